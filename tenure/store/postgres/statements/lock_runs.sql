-- Locks runs, the youngest first: children before parents, so that two sets cannot wait for each other.
-- Primary key look-ups, one for each. Before PostgreSQL 17 `= any` has no order, and with an equality of the tenant another
-- index would do without statistics: all runs of the tenant would be walked.
select r.uid
from (select distinct given.uid from unnest(%(uids)s::bigint[]) as given(uid) order by given.uid desc) wanted,
lateral (
    select run.uid from tenure.run run
    where run.uid = wanted.uid and run.tenant is not distinct from %(tenant)s for no key update) r
