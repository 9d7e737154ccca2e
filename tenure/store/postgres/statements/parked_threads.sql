-- The threads of a subscription that wait.
-- Index `parked_thread`.
select p.thread from tenure.parked_event p where p.subscription = %(subscription)s and not p.alone
