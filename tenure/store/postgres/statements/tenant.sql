-- One tenant by key.
select uid, seq, head from tenure.tenant where key = %(key)s
