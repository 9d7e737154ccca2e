-- Child runs of runs, as they stand: all, or the first so many.
-- Index `run_children`.
select r.* from unnest(%(runs)s::bigint[]) as wanted(run)
cross join lateral (select r.* from tenure.run r where r.parent_run = wanted.run offset 0) r
order by r.uid limit %(limit)s
