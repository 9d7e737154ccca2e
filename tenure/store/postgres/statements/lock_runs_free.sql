-- Locks those of these runs that nobody else has locked, each together with the runs above it, which its end would move on;
-- never waits. A run of which one above is locked elsewhere is left out.
-- Primary key look-ups, one for each; `= any` of one keeps them that where there are no statistics.
with recursive above as (
    select given.uid as wanted, r.uid, r.parent_run
    from (select distinct g.uid from unnest(%(uids)s::bigint[]) as g(uid)) given, tenure.run r
    where r.uid = any (array[given.uid]) and r.tenant is not distinct from %(tenant)s
    union all
    select above.wanted, r.uid, r.parent_run from above, tenure.run r
    where r.uid = any (array[above.parent_run]) and r.tenant is not distinct from %(tenant)s),
free as materialized (
    select r.uid from (select distinct above.uid from above) wanted,
    lateral (
        select run.uid from tenure.run run
        where run.uid = wanted.uid and run.tenant is not distinct from %(tenant)s for no key update skip locked) r)
select above.wanted as uid from above left join free on free.uid = above.uid
group by above.wanted having bool_and(free.uid is not null) order by above.wanted desc
