-- Child runs of runs, as they stand.
-- Index `run_children`.
select r.* from unnest(%(runs)s::bigint[]) as wanted(run)
cross join lateral (select r.* from tenure.run r where r.parent_run = wanted.run offset 0) r
order by r.uid
