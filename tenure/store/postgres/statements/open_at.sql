-- At which of these positions a subscription has an open dead letter already.
-- Index `event_dead_letter_open`.
select d.position from tenure.event_dead_letter d
where d.subscription = %(subscription)s and d.position = any (%(positions)s) and d.status = 'OPEN'
