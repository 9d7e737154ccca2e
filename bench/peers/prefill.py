"""Per peer: how to empty it, how to tell that nothing is unfinished, and how to lay down N finished jobs by SQL."""
M = "/* bench_driver */ "
RESET = {
    "procrastinate": ["truncate procrastinate_jobs, procrastinate_events, procrastinate_periodic_defers, procrastinate_workers restart identity cascade"],
    "pgqueuer": ["truncate pgqueuer, pgqueuer_log, pgqueuer_statistics restart identity"],
    "oban": ["truncate oban_jobs, oban_leaders, oban_producers restart identity"],
    "chancy": ["truncate chancy_jobs, chancy_workers, chancy_leader, chancy_queue_rate_limits restart identity"],
    "dbos": ["truncate dbos.workflow_status, dbos.workflow_input, dbos.workflow_output, dbos.operation_outputs cascade"],
    "absurd": ["truncate absurd.t_default, absurd.r_default, absurd.c_default, absurd.e_default, absurd.w_default"],
    "raw": ["truncate q, a restart identity"],
    # The law refuses a truncate; a superuser may set it aside. What setup declared (queues, tenants) stays.
    "tenure": ["set session_replication_role = replica; truncate tenure.subject, tenure.execution, tenure.attempt, tenure.fact, tenure.hold, tenure.dead_letter, tenure.link, tenure.refusal cascade; set session_replication_role = origin"],
}
UNFINISHED = {
    "procrastinate": M + "select exists (select 1 from procrastinate_jobs where status = 'todo') or exists (select 1 from procrastinate_jobs where worker_id is not null and status = 'doing')",
    "pgqueuer": M + "select exists (select 1 from pgqueuer)",
    "oban": M + "select exists (select 1 from oban_jobs where state = 'available' and queue='default') or exists (select 1 from oban_jobs where state = 'executing' and queue='default')",
    "chancy": M + "select exists (select 1 from chancy_jobs where state in ('pending','running','retrying','expired') and queue = 'bench')",
    "dbos": M + "select exists (select 1 from dbos.workflow_status where queue_name='bench' and status in ('ENQUEUED','PENDING'))",
    "absurd": M + "select exists (select 1 from absurd.r_default where state in ('pending','running','sleeping'))",
    "raw": M + "select exists (select 1 from q where state in (0, 1))",
    "tenure": M + "select exists (select 1 from tenure.execution where claimable) or exists (select 1 from tenure.attempt where lease_status = 'ACTIVE')",
}


def _raw(n):
    return [f"insert into q (state, attempt, claimed_by, claimed_at, finished_at, run_at, args) select 2, 1, 'w', now() - interval '1 h', now() - interval '1 h', now() - interval '1 h', jsonb_build_object('i', g) from generate_series(1, {n}) g",
            "vacuum analyze q"]


def _procrastinate(n):
    return [f"insert into procrastinate_jobs (queue_name, task_name, args, status, attempts) select 'default', 'noop', jsonb_build_object('i', g), 'succeeded', 1 from generate_series(1, {n}) g",
            "insert into procrastinate_events (job_id, type, at) select j.id, t.t, now() - interval '1 h' from procrastinate_jobs j, (values ('deferred'::procrastinate_job_event_type), ('started'), ('succeeded')) t(t) where j.status = 'succeeded'",
            "vacuum analyze procrastinate_jobs", "vacuum analyze procrastinate_events"]


def _pgqueuer(n):  # finished jobs leave the queue table; what stays is three log rows a job
    return [f"insert into pgqueuer_log (created, job_id, status, priority, entrypoint, aggregated) select now() - interval '1 h', g, s.s, 0, 'fetch', true from generate_series(1, {n}) g, (values ('queued'::pgqueuer_status), ('picked'), ('successful')) s(s)",
            f"alter sequence pgqueuer_id_seq restart with {n + 1}", "vacuum analyze pgqueuer_log"]


def _oban(n):
    return [f"""insert into oban_jobs (state, queue, worker, attempt, args, attempted_by, inserted_at, scheduled_at, attempted_at, completed_at)
      select 'completed', 'default', '__main__.noop', 1, jsonb_build_object('i', g), array['n0', gen_random_uuid()::text], t, t, t, t
      from generate_series(1, {n}) g, (select timezone('UTC', now()) - interval '1 h' as t) x""", "vacuum analyze oban_jobs"]


def _chancy(n):
    return [f"""insert into chancy_jobs (id, queue, func, kwargs, state, attempts, taken_by, created_at, started_at, completed_at, scheduled_at, claim_id)
      select uuidv7(interval '-1 h'), 'bench', 'chancy_jobs.noop', jsonb_build_object('i', g), 'succeeded', 1, 'w', t, t, t, t, gen_random_uuid()
      from generate_series(1, {n}) g, (select now() - interval '1 h' as t) x""", "vacuum analyze chancy_jobs"]


def _dbos(n):
    return [f"""insert into dbos.workflow_status (workflow_uuid, status, name, executor_id, created_at, updated_at, application_version, recovery_attempts, queue_name, started_at_epoch_ms, serialization, completed_at, application_name)
      select 'old-' || gen_random_uuid(), 'SUCCESS', 'noop', 'ex0', t, t, 'v1', 1, 'bench', t, 'portable_json', t, 'bench'
      from generate_series(1, {n}) g, (select (extract(epoch from now() - interval '1 h') * 1000)::bigint as t) x""",
            "insert into dbos.workflow_input (workflow_uuid, inputs) select workflow_uuid, '{\"positionalArgs\": [1], \"namedArgs\": {}}' from dbos.workflow_status where workflow_uuid like 'old-%' on conflict do nothing",
            "insert into dbos.workflow_output (workflow_uuid, output) select workflow_uuid, 'null' from dbos.workflow_status where workflow_uuid like 'old-%' on conflict do nothing",
            "vacuum analyze dbos.workflow_status", "vacuum analyze dbos.workflow_input", "vacuum analyze dbos.workflow_output"]


def _absurd(n):
    return [f"""insert into absurd.t_default (task_id, task_name, params, max_attempts, enqueue_at, first_started_at, state, attempts, last_attempt_run, completed_payload)
      select uuidv7(interval '-1 h'), 'noop', jsonb_build_object('i', g), 5, t, t, 'completed', 1, uuidv7(interval '-1 h'), 'null'
      from generate_series(1, {n}) g, (select now() - interval '1 h' as t) x""",
            """insert into absurd.r_default (run_id, task_id, attempt, state, claimed_by, claim_expires_at, available_at, started_at, completed_at, result, created_at)
      select last_attempt_run, task_id, 1, 'completed', 'w0', enqueue_at, enqueue_at, enqueue_at, enqueue_at, 'null', enqueue_at from absurd.t_default where state = 'completed' on conflict do nothing""",
            "vacuum analyze absurd.t_default", "vacuum analyze absurd.r_default"]


def _tenure(n):  # finished subjects with all their evidence: data tier, envelope, attempt, three chained facts
    return [f"""set session_replication_role = replica;
      create temp table old as select nextval('tenure.uid') as uid, nextval('tenure.uid') as lease, g as i, now() - interval '1 h' as t,
        sha256(int8send(g)) as h from generate_series(1, {n}) g;
      insert into tenure.subject (uid, tenant, template, properties, created_at)
        select o.uid, q.tenant, t.uid, jsonb_build_object('i', i), o.t from old o, tenure.queue q join tenure.template t on t.code = 'task/job/1.0' where q.queue_key = 'bench';
      insert into tenure.execution (uid, tenant, created_at, next_queue_key, seq, revision, state, slots_free, slots_done, last_record, head)
        select o.uid, q.tenant, o.t, 'bench', 3, 3, 'COMPLETED', 0, 1, o.lease + 1, h from old o, tenure.queue q where q.queue_key = 'bench';
      insert into tenure.attempt (uid, tenant, subject, queue, worker, attempt_number, ttl_seconds, start_revision, end_revision, lease_status, record_status,
        start_state, end_state, claimed_at, expires_at, started_at, ended_at, token_hash)
        select o.lease, q.tenant, o.uid, q.uid, 2, 1, 900, 1, 3, 'COMPLETED', 'SUCCEEDED', 'READY', 'COMPLETED', o.t, o.t, o.t, o.t, h from old o, tenure.queue q where q.queue_key = 'bench';
      insert into tenure.fact (thread, tenant, at, seq, revision, state, type, actor, queue_key, lease, worker, hash)
        select o.uid, q.tenant, o.t, s.seq, s.seq, s.state::tenure.state, s.type, 'worker:WX-0', 'bench', case when s.seq > 1 then o.lease end, 2, h
        from old o, tenure.queue q, (values (1, 'READY', 'subject.submitted'), (2, 'RUNNING', 'lease.claimed'), (3, 'COMPLETED', 'execution.completed')) s(seq, state, type) where q.queue_key = 'bench';
      drop table old; set session_replication_role = origin""",
            "vacuum analyze tenure.subject", "vacuum analyze tenure.execution", "vacuum analyze tenure.attempt", "vacuum analyze tenure.fact"]


PREFILL = {"raw": _raw, "tenure": _tenure, "procrastinate": _procrastinate, "pgqueuer": _pgqueuer, "oban": _oban, "chancy": _chancy, "dbos": _dbos, "absurd": _absurd}
