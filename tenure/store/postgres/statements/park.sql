-- Lets threads and groups wait, or one event alone; where that waits alone, its thread or group waits now.
-- Key of `parked_event`.
insert into tenure.parked_event (subscription, position, tenant, thread, alone, attempts, tries, first_failed_at, failed_at, next_attempt_at,
    code, group_key)
select %(subscription)s, p.position, %(tenant)s, p.thread, p.alone, p.attempts, p.tries, p.first_failed_at, p.failed_at, p.next_attempt_at, p.code,
    p.group_key
from jsonb_to_recordset(%(parked)s::jsonb) as p(position bigint, thread bigint, alone boolean, attempts int, tries int,
    first_failed_at timestamptz, failed_at timestamptz, next_attempt_at timestamptz, code text, group_key text)
on conflict (subscription, position) do update
set alone = parked_event.alone and excluded.alone, attempts = excluded.attempts, tries = excluded.tries, failed_at = excluded.failed_at,
    first_failed_at = excluded.first_failed_at, next_attempt_at = case when parked_event.give_up_seq is null then excluded.next_attempt_at else parked_event.next_attempt_at end, code = excluded.code,
    group_key = excluded.group_key
