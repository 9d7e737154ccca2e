-- Runs, the newest first, keyset-paged by uid.
-- Index on tenant (and workflow, or status), walked backwards.
select r.* from tenure.run r
where r.tenant = %(tenant)s and r.uid < %(before)s
    and (%(name)s::text is null or r.name = %(name)s) and (%(status)s::text is null or r.status = %(status)s)
    and (%(key)s::text is null or r.run_key = %(key)s) and (%(root)s::bigint is null or r.root = %(root)s)
    and (%(since)s::timestamptz is null or r.started_at >= %(since)s) and (%(until)s::timestamptz is null or r.started_at < %(until)s)
    and (not %(waiting)s::boolean or r.boundary is not null)
order by r.uid desc limit %(limit)s
