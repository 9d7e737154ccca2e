-- What waits no more at these positions.
-- Key of `parked_event`.
delete from tenure.parked_event p where p.subscription = %(subscription)s and p.position = any (%(positions)s)
