"""verify covers submissions, and the law keeps them: what is changed behind Tenure's back is refused, or found."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tenure import Tenure
from tenure.remote.model.names import submission_uid
from tests.remote.border import RESULT, SPEC

Connection = psycopg.Connection[Any]


@pytest.fixture
def client(migrated_database: str) -> Iterator[Tenure]:
    """A tenant with one submission that is done."""
    with Tenure(migrated_database) as made:
        made.define_node("n", **SPEC)
        made.poll_node("n", {"agent_id": "a"})
        accepted = made.submit_job({
            "tenant_id": "default", "workspace_id": "ws", "job_id": "job", "idempotency_key": "k", "management_node_id": "n",
            "execution_profile": {"queue_name": "open"}, "requested_by": {"user_id": "u"}, "trace_id": "t",
            "resource_shape": {"cpu": 1, "memory_mib": 1, "walltime_seconds": 1}, "payload_ref": {"input_uri": "s3://in"},
        })  # fmt: skip
        (work,) = made.poll_node("n", {"agent_id": "a", "accepting": 1}).work
        joins = {
            "tenant_id": "default", "workspace_id": "ws", "job_id": "job", "submission_id": accepted.submission_id,
            "trace_id": "t", "execution_id": work.execution_id, "occurred_at": "2026-01-05T12:00:00Z",
        }  # fmt: skip
        states = ("accepted", "running", "completed")
        made.receive_events([
            joins | {"event_id": s, "state": s, "scheduler_ref": {"slurm_job_id": "1"}}
            | ({"result_ref": RESULT} if s == "completed" else {})
            for s in states
        ])  # fmt: skip
        yield made


@pytest.fixture
def owner(client: Tenure, migrated_database: str) -> Iterator[Connection]:
    with psycopg.connect(migrated_database, autocommit=True) as connection:
        yield connection


def test_what_is_sound_is_clean_and_counted(client: Tenure) -> None:
    report = client.verify()
    assert (report.found, report.submissions) == ({}, 1)


def test_what_retention_removed_is_not_missed_and_an_event_that_comes_again_after_it_changes_nothing(
    client: Tenure, owner: Connection
) -> None:
    (data,) = owner.execute(
        "select data from tenure.fact where type = 'execution_event.received' and data ->> 'state' = 'running'"
    ).fetchall()[0]
    with Tenure(client.settings.dsn, clock=lambda: datetime.now(UTC) + timedelta(days=91)) as later:
        assert later.clean() == 3
        assert later.verify().found == {}
        (submission,) = later.submissions()
        again = later.receive_events([{
            "tenant_id": "default", "workspace_id": "ws", "job_id": "job", "submission_id": submission.submission_id,
            "trace_id": "t", "execution_id": data["execution_id"], "occurred_at": "2026-01-05T12:00:00Z",
            "event_id": "running", "state": "running", "scheduler_ref": {"slurm_job_id": "1"},
        }])  # fmt: skip
        assert [type(each).__name__ for each in again] == ["InvalidTransition"]
        assert later.verify().found == {}


FORGERIES = {
    "the projection": ("update tenure.remote_submission set projection_state = 'failed'", "projection_row_differs"),
    "the round": ("update tenure.remote_submission set projection_round = 2", "projection_row_differs"),
    "the job": ("update tenure.remote_submission set job_id = 'other'", "submission_differs"),
    "the node's placement": ("""update tenure.remote_submission set placement = '{"partition": "x"}'""", "submission_differs"),
    "the command": (
        "update tenure.remote_submission set command = jsonb_set(command, '{resource_shape,cpu}', '64')",
        "submission_command_differs",
    ),
    "the length of the thread": ("update tenure.remote_submission set seq = seq + 1", "seq_gap"),
    "an execution's state": ("update tenure.remote_execution set state = 'failed'", "execution_differs"),
    "a Slurm job id": ("update tenure.remote_execution set slurm_job_id = '2'", "execution_differs"),
    "an execution that is gone": ("delete from tenure.remote_execution", "execution_differs"),
    "an event that the inbox forgot": ("delete from tenure.inbox where message_id = 'running'", "event_not_in_inbox"),
    "an event's state": (
        """update tenure.fact set data = data || '{"state": "failed"}'
        where type = 'execution_event.received' and data ->> 'state' = 'running'""",
        "event_out_of_order",
    ),
    "an event that is gone": (
        "delete from tenure.fact where type = 'execution_event.received' and data ->> 'state' = 'running'", "event_out_of_order",
    ),
    "an update that was never told": (
        "delete from tenure.fact where type = 'projection.updated' and data ->> 'projection_state' = 'running'",
        "projection_differs",
    ),
    "an update that says something else": (
        """update tenure.fact set data = data || '{"projection_state": "failed"}' where type = 'projection.updated'
        and data ->> 'projection_state' = 'succeeded'""",
        "projection_differs",
    ),
    "a node": ("update tenure.fact set data = data || '{\"name\": \"m\"}' where type = 'node.defined'", "hash_broken"),
}  # fmt: skip


@pytest.mark.parametrize("what", FORGERIES)
def test_what_is_forged_past_the_law_is_found(client: Tenure, owner: Connection, what: str) -> None:
    statement, kind = FORGERIES[what]
    owner.execute("set session_replication_role = replica")
    assert owner.execute(statement).rowcount > 0  # type: ignore[call-overload]
    assert kind in client.verify().found


ILLEGAL = {
    "a projection without a fact": "update tenure.remote_submission set projection_state = 'failed'",
    "another command": "update tenure.remote_submission set command = '{}'",
    "a projection that goes back": "update tenure.remote_submission set projection_state = 'queued', seq = seq + 1",
    "a state without a fact": "update tenure.remote_execution set state = 'failed'",
    "another Slurm job": "update tenure.remote_execution set slurm_job_id = '2'",
    "another execution id": "update tenure.remote_execution set execution_id = 'x'",
    "an execution gone": "delete from tenure.remote_execution",
    "a submission gone": "delete from tenure.remote_submission",
    "another definition of a node": "update tenure.management_node set spec = '{}'",
    "another principal of a node": "update tenure.management_node set principal = 1",
    "a node gone": "delete from tenure.management_node",
    "a forgotten event": "delete from tenure.inbox",
}


@pytest.mark.parametrize("what", ILLEGAL)
def test_the_law_refuses_it_whoever_writes(client: Tenure, owner: Connection, what: str) -> None:
    with pytest.raises(psycopg.Error) as refused, owner.transaction():
        owner.execute(ILLEGAL[what])  # type: ignore[call-overload]
    assert str(refused.value.sqlstate).startswith("TN")
    assert client.verify().clean


def test_a_sentence_of_any_length_fits_into_a_fact(client: Tenure) -> None:
    client.poll_node("n", {"agent_id": "a"})
    long = "𝕏" * 2000
    accepted = client.submit_job({
        "tenant_id": "default", "workspace_id": "w" * 200, "job_id": "ä" * 200, "idempotency_key": "k2", "management_node_id": "n",
        "execution_profile": {"queue_name": "open"}, "requested_by": {"user_id": "u"}, "trace_id": "t" * 200,
        "resource_shape": {"cpu": 1, "memory_mib": 1, "walltime_seconds": 1},
        "payload_ref": {"input_uri": "s3://" + "i" * 1990},
    })  # fmt: skip
    (work,) = client.poll_node("n", {"agent_id": "a", "accepting": 1}).work
    joins = work.model_dump(
        include={"tenant_id", "workspace_id", "job_id", "submission_id", "execution_id", "trace_id"}
    )
    event = joins | {"occurred_at": "2026-01-05T12:00:00Z", "status_detail": long}
    error = {"code": "c" * 200, "message": long, "retryable": False}
    left = {"output_uri": "s3://" + "o" * 1995, "metadata_uri": "s3://" + "m" * 1995}
    outcomes = client.receive_events([
        event | {"event_id": "e" * 200, "state": "accepted"},
        event | {"event_id": "f" * 200, "state": "failed", "error": error, "result_ref": left},
    ])  # fmt: skip
    assert [str(o.outcome) for o in outcomes] == ["applied", "applied"]  # type: ignore[union-attr]
    told = client.submission_history(accepted.submission_id)
    failed = next(entry.data for entry in told.entries if entry.data.get("state") == "failed")
    assert failed["error"]["message"].endswith("…")
    assert client.submission(accepted.submission_id).failure["message"].startswith("𝕏𝕏𝕏")  # type: ignore[index]
    assert client.submission(accepted.submission_id).result_ref == left
    assert submission_uid(accepted.submission_id) is not None
    assert client.verify().clean
