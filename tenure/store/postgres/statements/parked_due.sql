-- What waited of a subscription and is due, the first that fell due first.
-- Index `parked_due`.
select p.* from tenure.parked_event p
where p.subscription = %(subscription)s and p.next_attempt_at <= tenure.now() and p.give_up_seq is null
order by p.next_attempt_at, p.position limit %(limit)s
