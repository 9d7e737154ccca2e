-- Since when facts after a subscription's cursor are held back by an older transaction that has not ended: when the first of
-- them was told. Looks at so many positions.
-- Index `fact_position`, from the cursor on.
select f.at
from tenure.subscription s
join tenure.worker_cursor c on c.subscription = s.uid
cross join lateral (
    select n.at from tenure.fact n
    where n.position > c.position and n.position <= c.position + %(stride)s and n.xid > pg_snapshot_xmin(pg_current_snapshot())
    order by n.position limit 1) f
where s.uid = %(uid)s and s.tenant = %(tenant)s
