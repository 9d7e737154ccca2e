-- Dead letters of a subscription, newest first.
-- Index `event_dead_letter_newest`.
select d.* from tenure.event_dead_letter d
where d.subscription = %(subscription)s and d.tenant = %(tenant)s and d.uid < %(before)s
order by d.uid desc limit %(limit)s
