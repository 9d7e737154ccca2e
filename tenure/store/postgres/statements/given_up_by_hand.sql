-- What a person gave up of what waits.
-- Index `parked_given_up`.
select p.* from tenure.parked_event p
where p.subscription = %(subscription)s and p.give_up_seq is not null order by p.position limit %(limit)s
