-- Some runnables of one run by their keys, with how the subject of each stands, in the order of the keys.
-- Unique index on run and key, then key look-ups, of plain columns: behind the wall PostgreSQL 15 uses no index for what it works out.
select p.*, e.state::text as state, e.last_record, a.error_class, a.error_code, left(a.error_message, 2000) as error_message, a.worker,
    a.ended_at, e.attempt_count, e.uid is not null as submitted
from unnest(%(keys)s::text[]) with ordinality as wanted(key, place)
cross join lateral (select p.* from tenure.runnable p where p.run = %(run)s and p.runnable_key = wanted.key offset 0) p
left join lateral (
    select e.uid, e.state, e.last_record, e.last_record - 1 as attempt, e.attempt_count
    from tenure.execution e where e.uid = p.subject offset 0) e on true
left join lateral (select a.* from tenure.attempt a where a.uid = e.attempt offset 0) a on true
order by wanted.place
