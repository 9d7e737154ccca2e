-- The threads and groups of a subscription that wait.
-- Index `parked_thread`.
select p.thread, p.group_key from tenure.parked_event p where p.subscription = %(subscription)s and not p.alone
