-- Resolves a dead letter of a subscription.
-- Primary key.
update tenure.event_dead_letter d
set status = %(status)s, resolved_at = tenure.now(), resolved_by = %(actor)s, reason = %(reason)s, resolved_seq = %(resolved_seq)s
where d.uid = %(uid)s and d.tenant = %(tenant)s and d.status = 'OPEN'
returning d.uid
