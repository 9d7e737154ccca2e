-- Keeps attempts to deliver that failed.
-- Insert only.
insert into tenure.delivery (tenant, subscription, position, thread, attempts, at, outcome, code, status, next_attempt_at)
select %(tenant)s, %(subscription)s, d.position, d.thread, d.attempts, d.at, d.outcome, d.code, d.status, d.next_attempt_at
from jsonb_to_recordset(%(deliveries)s::jsonb) as d(position bigint, thread bigint, attempts int, at timestamptz, outcome text, code text,
    status int, next_attempt_at timestamptz)
