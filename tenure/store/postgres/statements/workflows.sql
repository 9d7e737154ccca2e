-- Versions of workflows: by uid, or all of a tenant.
-- Primary key look-ups, or the few of a tenant.
select w.* from tenure.workflow w
where (%(uids)s::bigint[] is null or w.uid = any (%(uids)s)) and w.tenant = %(tenant)s
order by w.name, w.version
