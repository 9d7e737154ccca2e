-- Locks a tenant, whose thread tells of its templates.
select uid, seq, head from tenure.tenant where uid = %(uid)s for no key update
