-- Lets the relay give up what waits at a position, at its next turn; nothing where it waits no more.
-- Key of `parked_event`.
update tenure.parked_event p set give_up_seq = %(seq)s, next_attempt_at = tenure.now()
where p.subscription = %(subscription)s and p.position = %(position)s and (p.tenant = %(tenant)s) is true
