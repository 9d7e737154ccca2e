-- All that waits of a subscription is due now: its receiver is back.
-- Key of `parked_event`.
update tenure.parked_event p set next_attempt_at = tenure.now()
where p.subscription = %(subscription)s and p.next_attempt_at > tenure.now()
