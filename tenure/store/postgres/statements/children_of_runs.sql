-- Child runs of runs above a uid, as they stand: all, or the first so many.
-- Index `run_children`, one range for each run.
select r.* from unnest(%(runs)s::bigint[]) as wanted(run)
cross join lateral (
    select r.* from tenure.run r where r.parent_run = wanted.run and r.uid > %(after)s order by r.uid limit %(limit)s) r
order by r.uid limit %(limit)s
