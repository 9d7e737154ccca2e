-- The law, held by the database whoever writes (design 01, Facts: "No silent change").
--
-- Errors of the law have SQLSTATE TN001 to TN006 and name the object and what to do. Set-wise checks run once for a
-- statement over what it wrote; each look-up is one descent of a primary key, and the settings on the functions keep it so.

-- Append-only and written-once tables. Only a session that has become tenure_retention may delete, which archiving does.
create function refuse_edit() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' and current_user = 'tenure_retention' then
        return old;
    end if;
    raise exception '% on tenure.% is refused: its rows are evidence', tg_op, tg_table_name
        using errcode = 'TN001', hint = 'Corrections are new facts and new records; only the retention role may delete.';
end
$$;

create trigger append_only before update or delete on fact for each row execute function refuse_edit();
create trigger append_only_truncate before truncate on fact execute function refuse_edit();
create trigger written_once before update or delete on subject for each row execute function refuse_edit();
create trigger written_once_truncate before truncate on subject execute function refuse_edit();
create trigger written_once before update or delete on link for each row execute function refuse_edit();
create trigger written_once before update or delete on refusal for each row execute function refuse_edit();
create trigger kept before delete on execution for each row execute function refuse_edit();
create trigger kept_truncate before truncate on execution execute function refuse_edit();
create trigger kept before delete on attempt for each row execute function refuse_edit();
create trigger kept_truncate before truncate on attempt execute function refuse_edit();
create trigger kept before delete on hold for each row execute function refuse_edit();
create trigger kept before delete on dead_letter for each row execute function refuse_edit();
create trigger kept before delete on queue for each row execute function refuse_edit();
create trigger kept before delete on worker for each row execute function refuse_edit();
create trigger kept before delete on tenant for each row execute function refuse_edit();
create trigger kept before delete on fact_type for each row execute function refuse_edit();
create trigger kept_truncate before truncate on link execute function refuse_edit();
create trigger kept_truncate before truncate on refusal execute function refuse_edit();
create trigger kept_truncate before truncate on hold execute function refuse_edit();
create trigger kept_truncate before truncate on dead_letter execute function refuse_edit();
create trigger kept_truncate before truncate on queue execute function refuse_edit();
create trigger kept_truncate before truncate on worker execute function refuse_edit();
create trigger kept_truncate before truncate on tenant execute function refuse_edit();
create trigger kept_truncate before truncate on template execute function refuse_edit();
create trigger kept_truncate before truncate on fact_type execute function refuse_edit();

-- A template is immutable once a subject uses it.
create function refuse_template_change() returns trigger language plpgsql as $$
begin
    if exists (select from tenure.subject s where s.template = old.uid) then
        raise exception 'Template % is in use and immutable', old.code
            using errcode = 'TN001', hint = 'Define a new version with another code.';
    end if;
    return case when tg_op = 'DELETE' then old else new end;
end
$$;
create trigger immutable_once_used before update or delete on template for each row execute function refuse_template_change();

-- S1 4.3, closed. The condition is evaluated without calling anything, so a lawful change costs next to nothing.
create function refuse_transition() returns trigger language plpgsql as $$
begin
    if old.uid <> new.uid or old.tenant <> new.tenant or old.created_at <> new.created_at or old.slots_total <> new.slots_total then
        raise exception 'Subject % cannot change its identity', tenure.euid('SX', old.uid) using errcode = 'TN002';
    end if;
    if new.seq = old.seq then
        raise exception 'Silent change of subject %: its envelope changed without a fact', tenure.euid('SX', old.uid)
            using errcode = 'TN003', hint = 'Append the fact that tells of the change, in the same statement.';
    end if;
    raise exception 'Illegal change of subject %: % (revision %, seq %) to % (revision %, seq %)', tenure.euid('SX', old.uid),
        old.state, old.revision, old.seq, new.state, new.revision, new.seq
        using errcode = 'TN002', hint = 'Only the transitions of the table in tenure.model.transitions exist.';
end
$$;
create trigger law_transition before update on execution for each row
when (
    not (old.state = new.state
        or (old.state = 'PENDING' and new.state in ('READY', 'HELD', 'CANCELED', 'FAILED_TERMINAL'))
        or (old.state = 'READY' and new.state in ('RUNNING', 'WAITING_EXTERNAL', 'HELD', 'CANCELED', 'FAILED_TERMINAL'))
        or (old.state = 'RUNNING' and new.state in ('READY', 'WAITING_EXTERNAL', 'FAILED_RETRYABLE', 'FAILED_TERMINAL', 'HELD', 'CANCELED', 'COMPLETED'))
        or (old.state = 'WAITING_EXTERNAL' and new.state in ('READY', 'RUNNING', 'FAILED_RETRYABLE', 'FAILED_TERMINAL', 'HELD', 'CANCELED', 'COMPLETED'))
        or (old.state = 'FAILED_RETRYABLE' and new.state in ('READY', 'RUNNING', 'WAITING_EXTERNAL', 'FAILED_TERMINAL', 'HELD', 'CANCELED'))
        or (old.state = 'HELD' and new.state in ('READY', 'FAILED_RETRYABLE', 'FAILED_TERMINAL', 'CANCELED'))
        or (old.state in ('FAILED_TERMINAL', 'CANCELED', 'COMPLETED') and new.state = 'READY'))
    or new.seq < old.seq or new.revision < old.revision
    or old.uid <> new.uid or old.tenant <> new.tenant or old.created_at <> new.created_at or old.slots_total <> new.slots_total
    or (new.seq = old.seq and (
        (old.state, old.revision, old.head, old.priority, old.attempt_count, old.slots_free, old.slots_done, old.hold_state, old.cancel_requested)
        is distinct from
        (new.state, new.revision, new.head, new.priority, new.attempt_count, new.slots_free, new.slots_done, new.hold_state, new.cancel_requested)
        or (old.next_queue_key, old.next_action_key, old.ready_at, old.due_at, old.retry_at, old.max_attempts_override, old.hold_reason, old.last_record, old.site, old.platform, old.assay)
        is distinct from
        (new.next_queue_key, new.next_action_key, new.ready_at, new.due_at, new.retry_at, new.max_attempts_override, new.hold_reason, new.last_record, new.site, new.platform, new.assay)))
)
execute function refuse_transition();

-- Every envelope equals its last fact: state, revision, queue and hash.
create function law_envelope() returns trigger language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off as $$
declare
    bad bigint;
begin
    select n.uid into bad
    from written n
    left join lateral (
        select f.state, f.revision, f.hash, f.queue_key from tenure.fact f where f.thread = n.uid and f.seq = n.seq offset 0) f on true
    where f.hash is distinct from n.head or f.state is distinct from n.state or f.revision is distinct from n.revision
        or f.queue_key is distinct from n.next_queue_key
    limit 1;
    if found then
        raise exception 'Silent change of subject %: no fact tells of its state, revision and queue', tenure.euid('SX', bad)
            using errcode = 'TN003', hint = 'Append the fact that tells of the change, in the same statement.';
    end if;
    return null;
end
$$;
create trigger law_envelope_insert after insert on execution referencing new table as written for each statement execute function law_envelope();
create trigger law_envelope_update after update on execution referencing new table as written for each statement execute function law_envelope();

-- Every fact is of a registered type, follows its predecessor without a gap, and its thread's owner knows of it.
create function law_fact() returns trigger language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off as $$
declare
    bad record;
begin
    select n.thread, n.seq, n.type, t.known, p.there as follows into bad
    from written n
    left join lateral (select true as known from tenure.fact_type t where t.type = n.type offset 0) t on true
    left join lateral (select true as there from tenure.fact p where n.seq > 1 and p.thread = n.thread and p.seq = n.seq - 1 offset 0) p on true
    left join lateral (select e.seq from tenure.execution e where e.uid = n.thread offset 0) e on true
    where t.known is null
        or (n.seq > 1 and p.there is null)
        or n.seq > coalesce(e.seq, tenure.thread_length(n.thread))
    limit 1;
    if found then
        if bad.known is null then
            raise exception 'Fact type % is not registered', bad.type
                using errcode = 'TN004', hint = 'Register it in tenure.fact_type first.';
        elsif bad.seq > 1 and bad.follows is null then
            raise exception 'Fact % of thread % does not follow its predecessor', bad.seq, bad.thread
                using errcode = 'TN005', hint = 'Append under the lock of the thread''s owner, one seq after the other.';
        end if;
        raise exception 'Fact % of thread % is unknown to the thread''s owner', bad.seq, bad.thread
            using errcode = 'TN005', hint = 'Update the owner (seq, head) in the same statement.';
    end if;
    return null;
end
$$;

-- The length of a thread whose owner is not a subject.
create function thread_length(thread bigint) returns int language sql stable
return coalesce(
    (select w.seq from tenure.worker w where w.uid = thread),
    (select q.seq from tenure.queue q where q.uid = thread),
    (select t.seq from tenure.tenant t where t.uid = thread), 0);
create trigger law_fact after insert on fact referencing new table as written for each statement execute function law_fact();

-- Edges of new attempts and envelopes lead somewhere.
create function law_attempt_edges() returns trigger language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off as $$
declare
    bad record;
begin
    select n.uid, s.there as subject, q.there as queue, w.there as worker into bad
    from written n
    left join lateral (select true as there from tenure.execution s where s.uid = n.subject offset 0) s on true
    left join lateral (select true as there from tenure.queue q where q.uid = n.queue offset 0) q on true
    left join lateral (select true as there from tenure.worker w where w.uid = n.worker offset 0) w on true
    where s.there is null or q.there is null or (w.there is null and n.worker is not null)
    limit 1;
    if found then
        raise exception 'Attempt % has no such %', bad.uid,
            case when bad.subject is null then 'subject' when bad.queue is null then 'queue' else 'worker' end
            using errcode = 'TN006';
    end if;
    return null;
end
$$;
create trigger law_attempt_edges after insert on attempt referencing new table as written for each statement execute function law_attempt_edges();

create function law_execution_edges() returns trigger language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off as $$
declare
    bad bigint;
begin
    select n.uid into bad from written n
    left join lateral (select true as there from tenure.subject s where s.uid = n.uid and s.tenant = n.tenant offset 0) s on true
    where s.there is null limit 1;
    if found then
        raise exception 'Envelope % has no subject', bad using errcode = 'TN006';
    end if;
    return null;
end
$$;
create trigger law_execution_edges after insert on execution referencing new table as written for each statement execute function law_execution_edges();

-- An ended lease is immutable, and what an attempt was made of never changes (S1 2.2, 2.4).
create function refuse_attempt_change() returns trigger language plpgsql as $$
begin
    raise exception 'Attempt % is immutable: %', tenure.euid('LX', old.uid),
        case when old.lease_status is distinct from 'ACTIVE' then 'its lease has ended' else 'only its end and its expiry may change' end
        using errcode = 'TN001', hint = 'A correction is a new record.';
end
$$;
create trigger immutable_once_ended before update on attempt for each row
when (
    old.lease_status is distinct from 'ACTIVE'
    or (old.uid, old.tenant, old.subject, old.queue, old.worker, old.incarnation, old.attempt_number, old.slot, old.claimed_at, old.token_hash, old.start_state, old.start_revision)
    is distinct from
    (new.uid, new.tenant, new.subject, new.queue, new.worker, new.incarnation, new.attempt_number, new.slot, new.claimed_at, new.token_hash, new.start_state, new.start_revision)
    or (old.started_at is not null and old.started_at is distinct from new.started_at)
)
execute function refuse_attempt_change();

-- Holds and dead letters only ever close; a queue keeps its key and templates, a worker its key.
create function refuse_reopening() returns trigger language plpgsql as $$
begin
    raise exception '% % is closed or cannot be changed so', tg_table_name, old.uid using errcode = 'TN001';
end
$$;
create trigger only_closes before update on hold for each row
when (old.status = 'RELEASED' or (old.uid, old.subject, old.hold_code, old.reason, old.placed_by, old.placed_at)
    is distinct from (new.uid, new.subject, new.hold_code, new.reason, new.placed_by, new.placed_at))
execute function refuse_reopening();
create trigger only_closes before update on dead_letter for each row
when (old.resolution_state <> 'OPEN' or (old.uid, old.subject, old.attempt, old.dead_lettered_at, old.failure_count)
    is distinct from (new.uid, new.subject, new.attempt, new.dead_lettered_at, new.failure_count))
execute function refuse_reopening();

-- Owners of the other threads: no policy, status or identity changes without a fact. Heartbeats are telemetry (S4 6.4).
create function law_owner() returns trigger language plpgsql as $$
begin
    if not exists (select from tenure.fact f where f.thread = new.uid and f.seq = new.seq and f.hash = new.head) then
        raise exception 'Silent change of % %: no fact tells of it', tg_table_name, new.uid
            using errcode = 'TN003', hint = 'Append the fact that tells of the change, in the same statement.';
    end if;
    return null;
end
$$;
create trigger law_owner_insert after insert on queue for each row execute function law_owner();
create trigger law_owner_insert after insert on worker for each row execute function law_owner();
create trigger law_owner_insert after insert on tenant for each row execute function law_owner();
create trigger law_owner_update after update on queue for each row when (old.* is distinct from new.*) execute function law_owner();
create trigger law_owner_update after update on tenant for each row when (old.* is distinct from new.*) execute function law_owner();
create trigger law_owner_update after update on worker for each row when (old.seq <> new.seq or old.head <> new.head) execute function law_owner();

create function refuse_silent_owner() returns trigger language plpgsql as $$
begin
    raise exception 'Silent or illegal change of % %', tg_table_name, old.uid
        using errcode = 'TN003', hint = 'Change it through its actions; key and templates of a queue never change.';
end
$$;
create trigger law_owner_silent before update on queue for each row
when (new.seq <= old.seq or old.uid <> new.uid or old.tenant <> new.tenant or old.queue_key <> new.queue_key
    or old.subject_template_codes <> new.subject_template_codes or old.created_at <> new.created_at)
execute function refuse_silent_owner();
create trigger law_owner_silent before update on worker for each row
when (new.seq < old.seq or old.uid <> new.uid or old.tenant <> new.tenant or old.worker_key <> new.worker_key
    or (new.seq = old.seq and (
        (old.status, old.worker_type, old.capabilities, old.site_scope, old.platform_scope, old.assay_scope, old.max_concurrent_leases, old.incarnation, old.drain_requested, old.revision, old.head)
        is distinct from
        (new.status, new.worker_type, new.capabilities, new.site_scope, new.platform_scope, new.assay_scope, new.max_concurrent_leases, new.incarnation, new.drain_requested, new.revision, new.head))))
execute function refuse_silent_owner();
