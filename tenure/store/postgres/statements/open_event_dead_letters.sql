-- Dead letters of a subscription that nobody has decided on, newest first.
-- Index `event_dead_letter_undecided`: however many were resolved, none of them is read.
select d.* from tenure.event_dead_letter d
where d.subscription = %(subscription)s and d.tenant = %(tenant)s and d.uid < %(before)s and d.status = 'OPEN'
order by d.uid desc limit %(limit)s
