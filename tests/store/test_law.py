"""The law holds in the database itself, whoever writes: a plain SQL session is refused what the actions would not do."""

from __future__ import annotations

import itertools
from typing import Any

import psycopg
import pytest
from psycopg import errors as pg
from psycopg import sql

from tenure.model.fact_types import REGISTRY
from tenure.model.states import State
from tenure.model.transitions import LEGAL
from tests.store.actions import Lab

# What an honest writer adds to a change of an envelope: the next fact, and the envelope's seq and head with it.
_TOLD = """\
with told as (
    insert into tenure.fact (thread, seq, tenant, at, revision, state, type, actor, queue_key, data, hash)
    select uid, seq + 1, tenant, tenure.now(), {revision}, {state}, {type}, 'user:ada', next_queue_key, {data}, sha256(head)
    from tenure.execution where uid = {uid})
"""


def execute(lab: Lab, statement: Any, *values: Any) -> None:
    """Do it, or leave everything as it was."""
    with lab.connection.transaction():
        lab.connection.execute(statement, values or None)


def refused(lab: Lab, code: str, statement: str, *values: Any) -> str:
    """Do what must be refused; the message of the refusal."""
    with pytest.raises(psycopg.Error) as caught:
        execute(lab, statement, *values)
    assert caught.value.sqlstate == code, caught.value
    return str(caught.value)


def told(
    uid: int, revision: int = 1, state: str = "READY", type_: str = "subject.requeued", data: str | None = None
) -> sql.Composed:
    return sql.SQL(_TOLD).format(
        uid=sql.Literal(uid), revision=sql.Literal(revision), state=sql.Literal(state), type=sql.Literal(type_),
        data=sql.SQL("{}::jsonb").format(sql.Literal(data)),
    )  # fmt: skip


def append(lab: Lab, uid: int, **fact: Any) -> None:
    """Append a fact as an honest writer would."""
    execute(
        lab,
        told(uid, **fact)
        + sql.SQL("update tenure.execution set seq = seq + 1, head = sha256(head) where uid = {}").format(uid),
    )


@pytest.fixture
def subject(lab: Lab) -> int:
    return lab.submit()


PAIRS = list(itertools.product(State, State))


def test_the_database_allows_exactly_the_transitions_of_the_table(lab: Lab) -> None:
    """Each pair on a real row, told by a fact, as honestly as can be."""
    subject = lab.submit()
    allowed = set()
    for before, after in PAIRS:
        lab.tamper(
            "update tenure.execution set state = %s, hold_state = %s where uid = %s",
            str(before), "ACTIVE" if before is State.HELD else "NONE", subject,
        )  # fmt: skip
        lab.tamper("update tenure.fact set state = %s where thread = %s", str(before), subject)
        revision = lab.sql("select revision from tenure.execution where uid = %s", subject)[0][0] + 1
        change = told(subject, revision, str(after)) + sql.SQL(
            """update tenure.execution set state = {after}, hold_state = {hold}, revision = {revision}, seq = seq + 1,
                head = sha256(head)
            where uid = {uid}"""
        ).format(
            after=str(after), hold="ACTIVE" if after is State.HELD else "NONE", revision=revision, uid=subject
        )  # fmt: skip
        try:
            execute(lab, change)
            allowed.add((before, after))
        except psycopg.Error as error:
            assert error.sqlstate == "TN002", error
    assert allowed == LEGAL


def test_no_step_of_several_in_one_statement_leaves_the_table(lab: Lab, subject: int) -> None:
    """READY to RUNNING is lawful, by way of COMPLETED it is not."""
    told_twice = """\
with told as (
    insert into tenure.fact (thread, seq, tenant, at, revision, state, type, actor, queue_key, hash)
    select uid, seq + n, tenant, tenure.now(), revision + n, steps[n]::tenure.state, 'subject.requeued', 'user:ada', next_queue_key,
        sha256(int4send(n))
    from tenure.execution, (values ('{{COMPLETED, RUNNING}}'::text[])) as s(steps), generate_series(1, 2) n where uid = {uid})
update tenure.execution set state = 'RUNNING', revision = revision + 2, seq = seq + 2, head = sha256(int4send(2))
where uid = {uid}"""
    message = refused(lab, "TN002", told_twice.format(uid=subject))
    assert "READY (revision 1) to COMPLETED (revision 2)" in message


def test_a_subject_cannot_hide_a_step_by_a_fact_without_a_state(lab: Lab, subject: int) -> None:
    silent = """\
with told as (
    insert into tenure.fact (thread, seq, tenant, at, revision, state, type, actor, queue_key, hash)
    select uid, seq + n, tenant, tenure.now(), case n when 2 then 2 end, case n when 2 then 'COMPLETED'::tenure.state end,
        'subject.requeued', 'user:ada', next_queue_key, sha256(int4send(n))
    from tenure.execution, generate_series(1, 2) n where uid = {uid})
update tenure.execution set state = 'COMPLETED', revision = 2, seq = seq + 2, head = sha256(int4send(2)) where uid = {uid}"""
    refused(lab, "TN002", silent.format(uid=subject))


@pytest.mark.parametrize(
    "change",
    [
        "slots_free = slots_total + 1", "slots_done = 1", "slots_free = 0, slots_done = 2", "attempt_count = -1",
        "max_attempts_override = 0", "hold_state = 'ACTIVE'", "slots_free = -1",
    ],
)  # fmt: skip
def test_an_envelope_adds_up_whatever_a_fact_tells(lab: Lab, subject: int, change: str) -> None:
    with pytest.raises(psycopg.Error, match="does not add up") as caught:
        execute(
            lab, told(subject) + sql.SQL(f"update tenure.execution set seq = seq + 1, head = sha256(head), {change}")
        )
    assert caught.value.sqlstate == "TN002"


@pytest.mark.parametrize(
    "change",
    [
        "priority = 5", "state = 'RUNNING'", "attempt_count = 3", "slots_free = 0", "cancel_requested = true",
        "next_queue_key = 'other'", "next_action_key = 'x'", "ready_at = now()", "due_at = now()", "retry_at = now()",
        "max_attempts_override = 9", "hold_reason = 'x'", "last_record = 3", "site = 'north'", "platform = 'x'",
        "assay = 'x'", "head = sha256('x')", "revision = revision + 1", "slots_done = 1, slots_free = 0",
    ],
)  # fmt: skip
def test_no_envelope_changes_silently(lab: Lab, subject: int, change: str) -> None:
    message = refused(lab, "TN003", f"update tenure.execution set {change}")
    assert "Silent change" in message
    assert "HINT" in message


@pytest.mark.parametrize("change", ["seq = seq + 1", "seq = seq + 1, revision = 2, state = 'CANCELED'"])
def test_a_seq_without_its_fact_is_a_silent_change_too(lab: Lab, subject: int, change: str) -> None:
    refused(lab, "TN003", f"update tenure.execution set {change}")


@pytest.mark.parametrize(
    "change",
    [
        "head = sha256(head), state = 'CANCELED', revision = 2", "head = sha256(head), revision = 3",
        "head = sha256(head), next_queue_key = 'other'", "head = sha256('x')",
    ],
)  # fmt: skip
def test_a_fact_that_tells_something_else_does_not_excuse_a_change(lab: Lab, subject: int, change: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        execute(lab, told(subject) + sql.SQL(f"update tenure.execution set seq = seq + 1, {change}"))
    assert caught.value.sqlstate == "TN003"


@pytest.mark.parametrize("change", ["seq = seq - 1", "revision = 0", "created_at = created_at - interval '1 s'", "uid = 4",
                                    "tenant = 4", "slots_total = 2"])  # fmt: skip
def test_a_subject_neither_goes_back_nor_changes_its_identity(lab: Lab, subject: int, change: str) -> None:
    lab.hold(subject)
    with pytest.raises(psycopg.Error) as caught:
        execute(lab, f"update tenure.execution set {change}")
    assert caught.value.sqlstate in ("TN002", "TN003")


@pytest.mark.parametrize("table", ["fact", "subject", "link", "refusal"])
@pytest.mark.parametrize("change", ["update tenure.{} set tenant = tenant", "delete from tenure.{}"])
def test_evidence_is_neither_edited_nor_deleted(lab: Lab, table: str, change: str) -> None:
    subject = lab.submit(parents=(lab.submit(),), idempotency_key="k")
    lab.submit(parents=(subject - 2,), idempotency_key="k2")
    lab.submit(parents=(subject - 2,), idempotency_key="k2")
    assert lab.sql(f"select count(*) from tenure.{table}")[0][0] > 0
    refused(lab, "TN001", change.format(table))


@pytest.mark.parametrize(
    "table", ["execution", "attempt", "hold", "dead_letter", "queue", "worker", "tenant", "fact_type"]
)
def test_what_is_worked_with_is_never_deleted(lab: Lab, table: str) -> None:
    subject = lab.submit()
    lab.fail(lab.claim()[0], error_class="PERMANENT_INPUT")
    lab.requeue(subject, reopen=True)
    lab.hold(subject)
    assert lab.sql(f"select count(*) from tenure.{table}")[0][0] > 0
    with pytest.raises((pg.ForeignKeyViolation, psycopg.DatabaseError)) as caught:
        execute(lab, f"delete from tenure.{table}")
    assert caught.value.sqlstate == "TN001"


@pytest.mark.parametrize(
    "table",
    [
        "fact", "subject", "execution", "attempt", "hold", "dead_letter", "link", "refusal", "queue", "worker", "tenant",
        "template", "fact_type",
    ],
)  # fmt: skip
def test_nothing_is_truncated(lab: Lab, table: str) -> None:
    refused(lab, "TN001", f"truncate tenure.{table} cascade")


def test_only_the_retention_role_may_delete_a_fact_and_nobody_may_change_one(lab: Lab, subject: int) -> None:
    if not lab.sql("select from pg_roles where rolname = 'tenure_retention'"):
        lab.sql("create role tenure_retention")
    lab.sql("grant usage on schema tenure to tenure_retention")
    lab.sql("grant select, update, delete on tenure.fact to tenure_retention")
    lab.sql("set role tenure_retention")
    refused(lab, "TN001", "update tenure.fact set actor = 'user:eve'")
    lab.sql(f"delete from tenure.fact where thread = {subject}")
    lab.sql("reset role")
    assert lab.sql("select count(*) from tenure.fact where thread = %s", subject) == [(0,)]


def test_a_thread_has_no_gaps(lab: Lab, subject: int) -> None:
    message = refused(
        lab, "TN005",
        f"""with told as (
            insert into tenure.fact (thread, seq, tenant, at, revision, state, type, actor, queue_key, hash)
            select uid, seq + 2, tenant, tenure.now(), 1, 'READY', 'subject.requeued', 'user:ada', 'q', sha256(head)
            from tenure.execution where uid = {subject})
        update tenure.execution set seq = seq + 2, head = sha256(head) where uid = {subject}""",
    )  # fmt: skip
    assert "predecessor" in message


@pytest.mark.parametrize("seq", [1, 2])
def test_no_fact_is_appended_behind_its_threads_back(lab: Lab, subject: int, seq: int) -> None:
    """Seq 1 is taken; seq 2 is one that the envelope does not know of."""
    refused(
        lab, {1: "23505", 2: "TN005"}[seq],
        f"""insert into tenure.fact (thread, seq, tenant, at, revision, state, type, actor, queue_key, hash)
        values ({subject}, {seq}, {lab.tenant}, now(), 1, 'READY', 'subject.requeued', 'user:ada', 'q', sha256('x'))""",
    )  # fmt: skip


def test_a_fact_of_nobody_is_refused(lab: Lab) -> None:
    message = refused(
        lab, "TN005",
        f"""insert into tenure.fact (thread, seq, tenant, at, type, actor, hash)
        values (4, 1, {lab.tenant}, now(), 'subject.submitted', 'user:ada', sha256('x'))""",
    )  # fmt: skip
    assert "owner" in message


def test_a_fact_needs_a_registered_type_and_an_actor(lab: Lab, subject: int) -> None:
    with pytest.raises(psycopg.Error) as caught:
        append(lab, subject, type_="subject.abducted")
    assert caught.value.sqlstate == "TN004"
    assert "subject.abducted" in str(caught.value)
    refused(
        lab, "23514",
        f"""insert into tenure.fact (thread, seq, tenant, at, type, actor, hash)
        values ({subject}, 2, {lab.tenant}, now(), 'subject.requeued', '  ', sha256('x'))""",
    )  # fmt: skip


FORBIDDEN = ["body", "content", "raw", "vector", "embedding", "secret", "token", "password", "ssn", "personal_data"]


@pytest.mark.parametrize("key", [*FORBIDDEN, "PassWord"])
@pytest.mark.parametrize(
    "shape",
    ['{{"{}": 1}}', '{{"a": 1, "{}": null}}', '{{"a": {{"{}": 1}}}}', '{{"a": [1, {{"b": [{{"{}": {{}}}}]}}]}}'],
)
def test_a_fact_carries_no_data_under_a_forbidden_key_at_any_depth(
    lab: Lab, subject: int, key: str, shape: str
) -> None:
    with pytest.raises(pg.CheckViolation, match="signal_not_data"):
        append(lab, subject, data=shape.format(key))


@pytest.mark.parametrize(
    "data",
    [
        '{"bodyguard": 1, "my_token": 2, "tokens": 3}',
        '{"reason": "password: \\"token\\": 5"}',
        '{"reason": " \\"body\\": "}',
        '{"reason": "{\\"body\\": 1}"}',
        '{"list": ["token", "body"]}',
        '{"a\\"body": 1}',
    ],
)
def test_what_only_looks_like_a_forbidden_key_is_allowed(lab: Lab, subject: int, data: str) -> None:
    append(lab, subject, data=data)
    assert lab.sql("select seq from tenure.execution where uid = %s", subject) == [(2,)]


def test_a_fact_carries_at_most_ten_kibibytes(lab: Lab, subject: int) -> None:
    frame = len('{"reason": ""}')
    append(lab, subject, data='{"reason": "' + "x" * (10 * 1024 - frame) + '"}')
    with pytest.raises(pg.CheckViolation, match="ten_kibibytes"):
        append(lab, subject, data='{"reason": "' + "x" * (10 * 1024 - frame + 1) + '"}')
    with pytest.raises(pg.CheckViolation, match="ten_kibibytes"):
        append(lab, subject, data='{"reason": "' + "x" * 11 * 1024 + '"}')


_COPY = """\
insert into tenure.attempt (uid, tenant, subject, queue, worker, slot, attempt_number, lease_status, record_status, claimed_at,
    expires_at, token_hash)
select nextval('tenure.uid'), tenant, {subject}, {queue}, {worker}, {slot}, attempt_number, lease_status, record_status, claimed_at,
    expires_at, token_hash
from tenure.attempt where lease_status = 'ACTIVE'"""


def test_a_second_live_lease_of_a_slot_is_refused_by_the_index(lab: Lab, subject: int) -> None:
    lab.claim()
    with pytest.raises(pg.UniqueViolation, match="one_live_lease"):
        execute(lab, _COPY.format(subject="subject", queue="queue", worker="worker", slot="slot"))


@pytest.mark.parametrize("edge", ["subject", "queue", "worker"])
def test_an_attempt_does_not_lead_to_nowhere(lab: Lab, subject: int, edge: str) -> None:
    lab.claim()
    edges = {"subject": "subject", "queue": "queue", "worker": "worker", "slot": "2"} | {edge: "4"}
    message = refused(lab, "TN006", _COPY.format(**edges))
    assert f"no such {edge}" in message


def test_an_envelope_needs_its_subject(lab: Lab) -> None:
    message = refused(
        lab, "TN006",
        f"""with told as (
            insert into tenure.fact (thread, seq, tenant, at, revision, state, type, actor, hash)
            values (4, 1, {lab.tenant}, now(), 1, 'PENDING', 'subject.submitted', 'user:ada', sha256('x')))
        insert into tenure.execution (uid, tenant, created_at, seq, revision, state, head)
        values (4, {lab.tenant}, now(), 1, 1, 'PENDING', sha256('x'))""",
    )  # fmt: skip
    assert "no subject" in message


@pytest.mark.parametrize(
    "change",
    [
        "worker = worker + 2", "subject = subject + 2", "slot = 2", "claimed_at = now()", "token_hash = sha256('x')",
        "started_at = now()", "attempt_number = 9", "incarnation = 9", "queue = queue + 2", "start_state = 'PENDING'",
    ],
)  # fmt: skip
def test_what_a_live_attempt_was_made_of_never_changes(lab: Lab, subject: int, change: str) -> None:
    lab.claim()
    refused(lab, "TN001", f"update tenure.attempt set {change}")


@pytest.mark.parametrize("change", ["error_message = 'x'", "result = '1'", "expires_at = now()", "release_reason = 'x'",
                                    "lease_status = 'ACTIVE', record_status = 'STARTED'"])  # fmt: skip
def test_an_ended_attempt_is_immutable(lab: Lab, subject: int, change: str) -> None:
    lab.complete(lab.claim()[0])
    message = refused(lab, "TN001", f"update tenure.attempt set {change}")
    assert "its lease has ended" in message


@pytest.mark.parametrize("change", ["lease_status = 'COMPLETED'", "record_status = 'SUCCEEDED'", "expires_at = null"])
def test_lease_and_record_end_together_and_a_lease_is_whole(lab: Lab, subject: int, change: str) -> None:
    lab.claim()
    refused(lab, "23514", f"update tenure.attempt set {change}")


@pytest.mark.parametrize("change", ["status = 'ACTIVE'", "reason = 'x'", "released_by = 'user:eve'"])
def test_a_released_hold_is_closed(lab: Lab, subject: int, change: str) -> None:
    lab.hold(subject)
    lab.release_hold(subject)
    refused(lab, "TN001", f"update tenure.hold set {change}")


@pytest.mark.parametrize(
    "change", ["reason = 'x'", "placed_by = 'user:eve'", "subject = subject + 2", "placed_at = now()"]
)
def test_an_active_hold_can_only_be_released(lab: Lab, subject: int, change: str) -> None:
    lab.hold(subject)
    refused(lab, "TN001", f"update tenure.hold set {change}")


def test_a_dead_letter_only_ever_closes(lab: Lab, subject: int) -> None:
    lab.fail(lab.claim()[0], error_class="PERMANENT_INPUT")
    refused(lab, "TN001", "update tenure.dead_letter set failure_count = 0")
    lab.resolve(subject)
    refused(lab, "TN001", "update tenure.dead_letter set resolution_state = 'OPEN'")


@pytest.mark.parametrize("change", ["queue_key = 'other'", "subject_template_codes = '{x}'", "enabled = false", "seq = seq - 1",
                                    "lease_ttl_seconds = 1", "uid = 4"])  # fmt: skip
def test_a_queue_changes_only_with_a_fact_and_never_its_key_or_templates(lab: Lab, change: str) -> None:
    refused(lab, "TN003", f"update tenure.queue set {change}")


@pytest.mark.parametrize("change", ["queue_key = 'other'", "subject_template_codes = '{x}'"])
def test_not_even_a_fact_changes_a_queues_key_or_templates(lab: Lab, change: str) -> None:
    refused(
        lab, "TN003",
        f"""with told as (
            insert into tenure.fact (thread, seq, tenant, at, revision, type, actor, queue_key, data, hash)
            select uid, seq + 1, tenant, now(), 2, 'queue.updated', 'user:ada', 'q', '{{"set": {{}}}}', sha256(head)
            from tenure.queue)
        update tenure.queue set seq = seq + 1, head = sha256(head), {change}""",
    )  # fmt: skip


def test_a_queue_with_a_seq_that_no_fact_has_is_refused(lab: Lab) -> None:
    refused(lab, "TN003", "update tenure.queue set seq = seq + 1, enabled = false")


@pytest.mark.parametrize("change", ["worker_key = 'x'", "status = 'DISABLED'", "capabilities = '{x}'", "incarnation = 2",
                                    "max_concurrent_leases = 9", "drain_requested = true", "seq = seq + 1"])  # fmt: skip
def test_a_worker_changes_only_with_a_fact(lab: Lab, change: str) -> None:
    refused(lab, "TN003", f"update tenure.worker set {change}")


def test_a_heartbeat_is_telemetry_and_needs_no_fact(lab: Lab) -> None:
    lab.sql("update tenure.worker set heartbeat_at = now(), last_error_class = 'x', last_error_at = now()")


@pytest.mark.parametrize("change", ["update tenure.template set properties_schema = '{\"type\": \"object\"}'",
                                    "delete from tenure.template"])  # fmt: skip
def test_a_template_in_use_is_immutable(lab: Lab, subject: int, change: str) -> None:
    refused(lab, "TN001", change)


def test_the_registry_in_the_database_is_that_of_the_model(lab: Lab) -> None:
    rows = lab.sql(
        "select type, action, domain, stream, lane, severity, classification, version, schema from tenure.fact_type"
    )
    names = ("type", "action", "domain", "stream", "lane", "severity", "classification", "version", "schema")
    assert {row[0]: row for row in rows} == {
        name: tuple(getattr(entry, column) for column in names) for name, entry in REGISTRY.items()
    }
