-- The events for which threads and groups of a subscription wait, by their place in the ledger.
-- Key of `parked_event`; index `fact_position`, one look-up each.
select p.*, f.type, f.at, f.seq as fact_seq
from tenure.parked_event p
cross join lateral (select g.* from tenure.fact g where g.position = p.position offset 0) f
where p.subscription = %(subscription)s and p.position > %(after)s and (p.tenant = %(tenant)s) is true
order by p.position limit %(limit)s
