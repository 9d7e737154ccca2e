-- The journal, ledger and outbox in one (design 01, Facts).

create table fact_type (
    type text collate "C" primary key,
    action text not null,
    domain text not null check (domain in ('iu', 'piece', 'staging', 'birth_registry', 'governance', 'tac', 'kg', 'system',
        'dot', 'health', 'execution', 'queue', 'worker', 'flow', 'people', 'remote')),
    stream text not null check (stream in ('comment', 'review', 'update', 'birth', 'task', 'alert', 'health')),
    lane text not null check (lane in ('immediate', 'delayed')),
    severity text check (severity in ('info', 'warning', 'critical')),
    classification text not null check (classification in ('safe_metadata', 'restricted')),
    version int not null check (version > 0),
    schema jsonb not null
);

create sequence fact_position_seq as bigint;

-- Keys are chosen for partitioning by range of `thread` (uids grow with time, so a range is an age): the key of a fact
-- contains it. See docs/decisions on partitioning. What a row must hold is checked by law_fact, once for a statement: a CHECK
-- is read anew for each statement, which a single small one feels.
create table fact (
    position bigint not null default nextval('fact_position_seq'),
    thread bigint not null,
    tenant bigint not null,
    at timestamptz not null,
    lease bigint,
    worker bigint,
    causation_id bigint,
    xid xid8 not null default pg_current_xact_id(),
    seq int not null,
    revision int,
    state state,
    type text collate "C" not null,
    actor text not null,
    queue_key text,
    idempotency_key text,
    correlation_id text,
    trace_id text,
    payload_hash bytea,
    data jsonb,
    hash bytea not null,
    primary key (thread, seq)
);
create unique index fact_position on fact (position);
create unique index fact_idempotency on fact (thread, type, idempotency_key) where idempotency_key is not null;

-- The canonical content of a fact, chained: the same bytes as tenure.model.fact.Fact.content_hash.
create function fact_hash(
    previous bytea, thread bigint, seq int, at timestamptz, tenant bigint, revision int, lease bigint, worker bigint,
    type text, actor text, state state, queue_key text, idempotency_key text, payload_hash bytea, correlation_id text,
    causation_id bigint, trace_id text, data jsonb
) returns bytea language sql stable parallel safe
return sha256(
    previous || int8send(thread) || int4send(seq) || timestamptz_send(at) || int8send(tenant)
    || int4send(coalesce(revision, 0)) || int8send(coalesce(lease, 0)) || int8send(coalesce(worker, 0))
    || convert_to(row(type, actor, state, queue_key, idempotency_key, encode(payload_hash, 'hex'), correlation_id,
        causation_id, trace_id, data)::text, 'UTF8'));

-- What a subject was submitted with, hashed: the same bytes as tenure.model.requests.SubmitSubject.payload_hash.
create function inputs_hash(
    template text, queue_key text, properties jsonb, name text, external_ref text, payload_ref text, correlation_id text,
    born_with jsonb, ready boolean, parents jsonb
) returns bytea language sql stable parallel safe
return sha256(convert_to(
    jsonb_build_array(template, queue_key, properties, name, external_ref, payload_ref, correlation_id, born_with, ready, parents)::text,
    'UTF8'));
