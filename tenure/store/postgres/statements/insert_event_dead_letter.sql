-- Gives up an event for one subscription.
-- Insert only.
insert into tenure.event_dead_letter (uid, tenant, subscription, position, thread, fact_seq, type, status, code, http_status, attempts,
    first_failed_at, opened_at, opened_seq)
values (%(uid)s, %(tenant)s, %(subscription)s, %(position)s, %(thread)s, %(fact_seq)s, %(type)s, 'OPEN', %(code)s, %(http_status)s,
    %(attempts)s, %(first_failed_at)s, tenure.now(), %(opened_seq)s)
