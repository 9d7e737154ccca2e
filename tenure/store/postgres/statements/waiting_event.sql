-- The event of that fact, where something waits for it.
-- Primary key of `fact`; key of `parked_event`.
select p.*, f.type, f.at, f.seq as fact_seq
from tenure.fact f
join tenure.parked_event p on p.subscription = %(subscription)s and p.position = f.position and (p.tenant = %(tenant)s) is true
where f.thread = %(thread)s and f.seq = %(seq)s
