-- Length and last hash of a queue's, worker's, principal's or tenant's thread.
select seq, head from tenure.queue where uid = %(uid)s
union all select seq, head from tenure.worker where uid = %(uid)s
union all select seq, head from tenure.tenant where uid = %(uid)s
union all select seq, head from tenure.principal where uid = %(uid)s
union all select seq, head from tenure.workflow where uid = %(uid)s
union all select seq, head from tenure.schedule where uid = %(uid)s
