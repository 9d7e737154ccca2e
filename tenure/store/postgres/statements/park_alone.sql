-- Lets an event be sent once more, beside its thread; where it waits already, nothing changes.
-- Insert only.
insert into tenure.parked_event (subscription, position, tenant, thread, alone, attempts, tries, next_attempt_at)
values (%(subscription)s, %(position)s, %(tenant)s, %(thread)s, true, 0, 0, tenure.now())
on conflict do nothing
