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

-- S1 4.3, closed; `lawful` is tenure.model.transitions. An envelope always equals its last fact, so a transition is judged
-- from fact to fact, where the predecessor is looked up anyway.
create function lawful(before state, after state) returns boolean language sql immutable parallel safe
return before = after
    or (before = 'READY' and after in ('RUNNING', 'WAITING_EXTERNAL', 'HELD', 'CANCELED', 'FAILED_TERMINAL'))
    or (before = 'RUNNING' and after in ('COMPLETED', 'READY', 'WAITING_EXTERNAL', 'FAILED_RETRYABLE', 'FAILED_TERMINAL', 'HELD', 'CANCELED'))
    or (before = 'PENDING' and after in ('READY', 'HELD', 'CANCELED', 'FAILED_TERMINAL'))
    or (before = 'WAITING_EXTERNAL' and after in ('READY', 'RUNNING', 'FAILED_RETRYABLE', 'FAILED_TERMINAL', 'HELD', 'CANCELED', 'COMPLETED'))
    or (before = 'FAILED_RETRYABLE' and after in ('READY', 'RUNNING', 'WAITING_EXTERNAL', 'FAILED_TERMINAL', 'HELD', 'CANCELED'))
    or (before = 'HELD' and after in ('READY', 'FAILED_RETRYABLE', 'FAILED_TERMINAL', 'CANCELED'))
    or (before in ('FAILED_TERMINAL', 'CANCELED', 'COMPLETED') and after = 'READY');

-- What never changes, and what changes without a fact. PostgreSQL reads the condition of a trigger anew for each statement,
-- so conditions are short, and what is told by a fact meets only one comparison. And it locks a row, with a record in the WAL,
-- before it asks a trigger BEFORE an update; so these are asked after it.
create function refuse_new_identity() returns trigger language plpgsql as $$
begin
    raise exception 'Subject % cannot change its identity', tenure.euid('SX', old.uid) using errcode = 'TN002';
end
$$;
create trigger law_identity after update of uid, tenant, created_at, slots_total on execution for each row
when (old.uid <> new.uid or old.tenant <> new.tenant or old.created_at <> new.created_at or old.slots_total <> new.slots_total)
execute function refuse_new_identity();

create function refuse_silence() returns trigger language plpgsql as $$
begin
    if new.seq < old.seq then
        raise exception 'Illegal change of subject %: seq % follows seq %', tenure.euid('SX', old.uid), new.seq, old.seq
            using errcode = 'TN002', hint = 'A thread only ever grows.';
    end if;
    -- `deferred` is bookkeeping of an index.
    if (old.state, old.revision, old.head, old.priority, old.attempt_count, old.slots_free, old.slots_done, old.hold_state, old.cancel_requested,
        old.next_queue_key, old.next_action_key, old.ready_at, old.due_at, old.retry_at, old.max_attempts_override, old.hold_reason, old.last_record, old.site, old.platform, old.assay)
        is distinct from
        (new.state, new.revision, new.head, new.priority, new.attempt_count, new.slots_free, new.slots_done, new.hold_state, new.cancel_requested,
        new.next_queue_key, new.next_action_key, new.ready_at, new.due_at, new.retry_at, new.max_attempts_override, new.hold_reason, new.last_record, new.site, new.platform, new.assay)
    then
        raise exception 'Silent change of subject %: its envelope changed without a fact', tenure.euid('SX', old.uid)
            using errcode = 'TN003', hint = 'Append the fact that tells of the change, in the same statement.';
    end if;
    return null;
end
$$;
create trigger law_silence after update on execution for each row when (new.seq <= old.seq) execute function refuse_silence();

-- Every envelope equals its last fact (state, revision, queue, hash) and is whole in itself; a new one has its subject.
-- `offset 0` keeps each look-up a look-up: one descent of a primary key for a row, in every plan there is.
create function law_envelope() returns trigger language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
    bad bigint;
begin
    select n.uid into bad
    from written n
    where n.revision < 1 or n.attempt_count < 0 or n.max_attempts_override < 1
        or n.slots_free < 0 or n.slots_done < 0 or n.slots_free + n.slots_done > n.slots_total
        or (n.state = 'HELD') <> (n.hold_state = 'ACTIVE')
        or not exists (
            select from tenure.fact f
            where f.thread = n.uid and f.seq = n.seq and f.hash = n.head and f.state = n.state and f.revision = n.revision
                and f.queue_key is not distinct from n.next_queue_key offset 0);
    if found then
        perform tenure.refuse_envelope(bad);
    end if;
    return null;
end
$$;
create trigger law_envelope after update on execution referencing new table as written for each statement execute function law_envelope();

create function law_birth() returns trigger language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
    bad bigint;
begin
    select n.uid into bad
    from written n
    where n.revision < 1 or n.attempt_count < 0 or n.max_attempts_override < 1 or n.slots_total < 1
        or n.slots_free < 0 or n.slots_done < 0 or n.slots_free + n.slots_done > n.slots_total
        or (n.state = 'HELD') <> (n.hold_state = 'ACTIVE')
        or not exists (
            select from tenure.fact f
            where f.thread = n.uid and f.seq = n.seq and f.hash = n.head and f.state = n.state and f.revision = n.revision
                and f.queue_key is not distinct from n.next_queue_key offset 0)
        or not exists (select from tenure.subject s where s.uid = n.uid and s.tenant = n.tenant offset 0);
    if found then
        perform tenure.refuse_envelope(bad);
    end if;
    return null;
end
$$;
create trigger law_birth after insert on execution referencing new table as written for each statement execute function law_birth();

-- Says what is wrong with an envelope.
create function refuse_envelope(of_subject bigint) returns void language plpgsql as $$
begin
    if not exists (select from tenure.execution e join tenure.subject s on s.uid = e.uid and s.tenant = e.tenant where e.uid = of_subject) then
        raise exception 'Envelope % has no subject', of_subject using errcode = 'TN006';
    elsif exists (
        select from tenure.execution e join tenure.fact f on f.thread = e.uid and f.seq = e.seq
        where e.uid = of_subject and f.hash = e.head and f.state = e.state and f.revision = e.revision
            and f.queue_key is not distinct from e.next_queue_key)
    then
        raise exception 'The envelope of subject % does not add up: its slots, attempts or hold', tenure.euid('SX', of_subject)
            using errcode = 'TN002', hint = 'Slots free and done fit in their total; HELD is what has an active hold.';
    end if;
    raise exception 'Silent change of subject %: no fact tells of its state, revision and queue', tenure.euid('SX', of_subject)
        using errcode = 'TN003', hint = 'Append the fact that tells of the change, in the same statement.';
end
$$;

-- Every fact is of a registered type, follows its predecessor without a gap and by a lawful transition, carries no data
-- that it may not carry, and its thread's owner knows of it.
create function law_fact() returns trigger language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
    bad tenure.fact;
begin
    select n.* into bad
    from written n
    where n.seq < 1
        or octet_length(n.hash) <> 32
        or btrim(n.actor) = ''
        or (n.data is not null and not tenure.signal(n.data::text))
        or n.seq > coalesce((select e.seq from tenure.execution e where e.uid = n.thread), tenure.thread_length(n.thread))
        or (n.seq > 1 and not exists (
            select from tenure.fact p
            where p.thread = n.thread and p.seq = n.seq - 1
                and ((p.state is null and n.state is null) or (tenure.lawful(p.state, n.state) and p.revision <= n.revision)) offset 0))
        or not exists (select from tenure.fact_type t where t.type = n.type offset 0);
    if found then
        perform tenure.refuse_fact(bad);
    end if;
    return null;
end
$$;
create trigger law_fact after insert on fact referencing new table as written for each statement execute function law_fact();

-- A fact is a signal, not the data (S4 4.3): at most 10 KiB, and nowhere a key that names content or a secret. What may be
-- such a key is looked for first, which takes a fraction of the time; whether it is one, and no text, is for the second look.
create function signal(data text) returns boolean language sql immutable parallel safe
return octet_length(data) <= 10240
    and (not lower(data) like any (array[
            '%"body": %', '%"content": %', '%"raw": %', '%"vector": %', '%"embedding": %', '%"secret": %', '%"token": %', '%"password": %',
            '%"ssn": %', '%"personal_data": %'])
        or data !~* '[{ ]"(body|content|raw|vector|embedding|secret|token|password|ssn|personal_data)": ');

-- Says what is wrong with a fact.
create function refuse_fact(bad fact) returns void language plpgsql as $$
declare
    before tenure.fact;
begin
    select * into before from tenure.fact p where p.thread = bad.thread and p.seq = bad.seq - 1;
    if bad.seq < 1 or octet_length(bad.hash) <> 32 or btrim(bad.actor) = '' then
        raise exception 'Fact % of thread % has no seq, no actor or no hash', bad.seq, bad.thread
            using errcode = 'check_violation', constraint = 'fact_is_whole';
    elsif not exists (select from tenure.fact_type t where t.type = bad.type) then
        raise exception 'Fact type % is not registered', bad.type
            using errcode = 'TN004', hint = 'Register it in tenure.fact_type first.';
    elsif bad.seq > 1 and before.seq is null then
        raise exception 'Fact % of thread % does not follow its predecessor', bad.seq, bad.thread
            using errcode = 'TN005', hint = 'Append under the lock of the thread''s owner, one seq after the other.';
    elsif bad.seq > coalesce((select e.seq from tenure.execution e where e.uid = bad.thread), tenure.thread_length(bad.thread)) then
        raise exception 'Fact % of thread % is unknown to the thread''s owner', bad.seq, bad.thread
            using errcode = 'TN005', hint = 'Update the owner (seq, head) in the same statement.';
    elsif octet_length(bad.data::text) > 10240 then
        raise exception 'Fact % of thread % breaks ten_kibibytes', bad.seq, bad.thread
            using errcode = 'check_violation', constraint = 'ten_kibibytes';
    elsif not tenure.signal(bad.data::text) then
        raise exception 'Fact % of thread % breaks signal_not_data', bad.seq, bad.thread
            using errcode = 'check_violation', constraint = 'signal_not_data';
    end if;
    raise exception 'Illegal change of subject %: % (revision %) to % (revision %)', tenure.euid('SX', bad.thread),
        before.state, before.revision, bad.state, bad.revision
        using errcode = 'TN002', hint = 'Only the transitions of the table in tenure.model.transitions exist.';
end
$$;

-- The length of a thread whose owner is not a subject.
create function thread_length(thread bigint) returns int language sql stable
return coalesce(
    (select w.seq from tenure.worker w where w.uid = thread),
    (select q.seq from tenure.queue q where q.uid = thread),
    (select t.seq from tenure.tenant t where t.uid = thread), 0);

-- Edges of new attempts lead somewhere.
create function law_attempt_edges() returns trigger language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
    bad tenure.attempt;
begin
    select n.* into bad
    from written n
    where not exists (select from tenure.execution s where s.uid = n.subject offset 0)
        or not exists (select from tenure.queue q where q.uid = n.queue offset 0)
        or (n.worker is not null and not exists (select from tenure.worker w where w.uid = n.worker offset 0));
    if found then
        raise exception 'Attempt % has no such %', bad.uid, case
            when not exists (select from tenure.execution s where s.uid = bad.subject) then 'subject'
            when not exists (select from tenure.queue q where q.uid = bad.queue) then 'queue' else 'worker' end
            using errcode = 'TN006';
    end if;
    return null;
end
$$;
create trigger law_attempt_edges after insert on attempt referencing new table as written for each statement execute function law_attempt_edges();

-- An ended lease is immutable, and what an attempt was made of never changes (S1 2.2, 2.4).
create function refuse_attempt_change() returns trigger language plpgsql as $$
begin
    raise exception 'Attempt % is immutable: %', tenure.euid('LX', old.uid),
        case when old.lease_status is distinct from 'ACTIVE' then 'its lease has ended' else 'only its end and its expiry may change' end
        using errcode = 'TN001', hint = 'A correction is a new record.';
end
$$;
create trigger immutable_once_ended after update on attempt for each row
when (old.lease_status is distinct from 'ACTIVE') execute function refuse_attempt_change();
create trigger law_identity after update of uid, tenant, subject, queue, worker, incarnation, attempt_number, slot, shared, claimed_at, token_hash,
    start_state, start_revision on attempt for each row
when ((old.uid, old.tenant, old.subject, old.queue, old.worker, old.incarnation, old.attempt_number, old.slot, old.shared, old.claimed_at, old.token_hash, old.start_state, old.start_revision)
    is distinct from
    (new.uid, new.tenant, new.subject, new.queue, new.worker, new.incarnation, new.attempt_number, new.slot, new.shared, new.claimed_at, new.token_hash, new.start_state, new.start_revision))
execute function refuse_attempt_change();
create trigger starts_once after update of started_at on attempt for each row
when (old.started_at is not null and old.started_at is distinct from new.started_at) execute function refuse_attempt_change();

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
