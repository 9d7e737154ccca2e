-- Keeps the counts of queues as samples of one moment.
-- One row for each queue; a second sample of the same moment changes nothing.
insert into tenure.queue_sample (tenant, queue_key, at, window_seconds, queue_depth, oldest_job_age_seconds, newest_job_age_seconds,
    active_leases, expired_leases_total, retryable_failures_total, terminal_failures_total, throughput_success_per_minute,
    throughput_failure_per_minute, failure_rate, dead_letter_count, held_count, worker_online_count, worker_heartbeat_lag_seconds,
    claim_conflict_total, idempotent_replay_total)
select %(tenant)s, c.queue_key, %(at)s, %(window)s, c.queue_depth, c.oldest_job_age_seconds, c.newest_job_age_seconds,
    c.active_leases, c.expired_leases_total, c.retryable_failures_total, c.terminal_failures_total, c.throughput_success_per_minute,
    c.throughput_failure_per_minute, c.failure_rate, c.dead_letter_count, c.held_count, c.worker_online_count, c.worker_heartbeat_lag_seconds,
    c.claim_conflict_total, c.idempotent_replay_total
from jsonb_populate_recordset(null::tenure.queue_sample, %(counts)s::jsonb) c
on conflict (tenant, queue_key, at) do nothing
