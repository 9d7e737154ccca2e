-- Writes what crossed the border: facts, submissions, executions, ids of events, in one statement so that the law sees it together.
-- Keys only. What another transaction wrote meanwhile is left out, and counted by the caller.
with told as (
    insert into tenure.fact (thread, seq, tenant, at, type, actor, idempotency_key, correlation_id, causation_id, trace_id, payload_hash, data, hash)
    select f.thread, f.seq, f.tenant, f.at, f.type, f.actor, f.idempotency_key, f.correlation_id, f.causation_id, f.trace_id,
        decode(f.payload_hash, 'hex'), f.data, decode(f.hash, 'hex')
    from jsonb_to_recordset(%(facts)s::jsonb) as f(thread bigint, seq int, tenant bigint, at timestamptz, type text, actor text,
        idempotency_key text, correlation_id text, causation_id bigint, trace_id text, payload_hash text, data jsonb, hash text)),
born as (
    insert into tenure.remote_submission (uid, tenant, subject, node, workspace_id, job_id, idempotency_key, command, command_hash, placement,
        trace_id, accepted_at, projection_state, projection_round, source_execution_state, projected_at, display_message, result_ref, failure, seq, head)
    select s.uid, s.tenant, s.subject, s.node, s.workspace_id, s.job_id, s.idempotency_key, s.command, decode(s.command_hash, 'hex'), s.placement,
        s.trace_id, s.accepted_at, s.projection_state, s.projection_round, s.source_execution_state, s.projected_at, s.display_message, s.result_ref,
        s.failure, s.seq, decode(s.head, 'hex')
    from jsonb_to_recordset(%(born)s::jsonb) as s(uid bigint, tenant bigint, subject bigint, node bigint, workspace_id text, job_id text,
        idempotency_key text, command jsonb, command_hash text, placement jsonb, trace_id text, accepted_at timestamptz, projection_state text,
        projection_round int, source_execution_state text, projected_at timestamptz, display_message text, result_ref jsonb, failure jsonb,
        seq int, head text)),
moved as (
    update tenure.remote_submission s
    set projection_state = i.projection_state, projection_round = i.projection_round, source_execution_state = i.source_execution_state,
        projected_at = i.projected_at, display_message = i.display_message, result_ref = i.result_ref, failure = i.failure, seq = i.seq,
        head = decode(i.head, 'hex')
    from jsonb_to_recordset(%(moved)s::jsonb) as i(uid bigint, projection_state text, projection_round int, source_execution_state text,
        projected_at timestamptz, display_message text, result_ref jsonb, failure jsonb, seq int, head text)
    where s.uid = any (array[i.uid])),
executed as (
    insert into tenure.remote_execution as e (submission, number, tenant, node, execution_id, attempt, state, slurm_job_id, partition, qos, wanted,
        open, handed_out_at, accepted_at, running_at, ended_at, status_detail)
    select i.submission, i.number, i.tenant, i.node, i.execution_id, i.attempt, i.state, i.slurm_job_id, i.partition, i.qos, i.wanted, i.open,
        i.handed_out_at, i.accepted_at, i.running_at, i.ended_at, i.status_detail
    from jsonb_to_recordset(%(executions)s::jsonb) as i(submission bigint, number int, tenant bigint, node bigint, execution_id text, attempt bigint,
        state text, slurm_job_id text, partition text, qos text, wanted boolean, open boolean, handed_out_at timestamptz, accepted_at timestamptz,
        running_at timestamptz, ended_at timestamptz, status_detail text)
    on conflict (submission, number) do update set node = excluded.node, execution_id = excluded.execution_id, attempt = excluded.attempt,
        state = excluded.state, slurm_job_id = excluded.slurm_job_id, partition = excluded.partition, qos = excluded.qos,
        wanted = excluded.wanted, open = excluded.open, accepted_at = excluded.accepted_at, running_at = excluded.running_at,
        ended_at = excluded.ended_at, status_detail = excluded.status_detail),
taken as (
    insert into tenure.inbox (tenant, source, message_id, content_hash, actor, received_at)
    select %(tenant)s, m.source, m.message_id, decode(m.content_hash, 'hex'), %(actor)s, tenure.now()
    from jsonb_to_recordset(%(events)s::jsonb) as m(source text, message_id text, content_hash text)
    on conflict do nothing returning message_id)
select (select count(*) from taken) as taken, count(pg_notify('tenure_work', %(tenant)s || ' ' || h.queue_key)) as hinted
from unnest(%(hints)s::text[]) as h(queue_key)
