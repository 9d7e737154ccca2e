-- One dead letter of a subscription.
-- Primary key.
select d.* from tenure.event_dead_letter d where d.uid = %(uid)s and d.tenant = %(tenant)s
