-- The subjects that stand for runnables, and whether each is there.
-- Unique index on run and key, then primary keys.
select r.run, r.runnable_key, r.subject, e.there is not null as there
from unnest(%(runs)s::bigint[], %(keys)s::text[]) as i(run, key)
cross join lateral (select r.* from tenure.runnable r where r.run = i.run and r.runnable_key = i.key offset 0) r
left join lateral (select true as there from tenure.execution e where e.uid = r.subject offset 0) e on true
