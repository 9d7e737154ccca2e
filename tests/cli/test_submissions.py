"""``tenure node`` and ``tenure submission``: nodes defined, submissions sent, looked at and taken back (S5)."""

from __future__ import annotations

import json

import pytest

from tenure.cli.call import Call
from tenure.cli.logs import log_to
from tenure.remote.engine.events_log import log_event
from tenure.sdk.client import Tenure

COMMAND = {
    "workspace_id": "ws", "job_id": "job-1", "idempotency_key": "k-1", "management_node_id": "cluster-1",
    "execution_profile": {"queue_name": "normal"}, "payload_ref": {"input_uri": "s3://in"},
    "resource_shape": {"cpu": 1, "memory_mib": 100, "walltime_seconds": 60}, "requested_by": {"user_id": "ada"},
}  # fmt: skip


@pytest.fixture
def defined(tenure):
    answer = tenure("node", "define", "cluster-1", "--queue", "normal=partition:cpu,account:lab,accounts:a+b,max_cpu:8")
    assert answer.code == 0, answer.err
    return answer


@pytest.fixture
def node(defined, migrated_database):
    with Tenure(migrated_database, actor="agent:cluster-1") as client:
        client.poll_node("cluster-1", {"agent_id": "a"})
        yield client


@pytest.fixture
def submitted(tenure, node):
    answer = tenure("submission", "submit", json.dumps(COMMAND), "--json")
    assert answer.code == 0, answer.err
    return answer.json["submission_id"]


def test_a_node_is_defined_shown_and_given_a_token(tenure, defined):
    assert "tenure node token cluster-1" in defined.out
    shown = tenure("node", "show", "cluster-1", "--json").json
    assert shown["spec"]["queues"]["normal"] == {
        "partition": "cpu", "account": "lab", "accounts": ["a", "b"], "qos": None, "qos_allowed": [],
        "max_walltime_seconds": None, "max_cpu": 8, "max_memory_mib": None,
    }  # fmt: skip
    assert (shown["principal"], shown["silent"], shown["polled_at"]) == ("agent:cluster-1", True, None)
    assert "silent" in tenure("node", "list").out
    assert [each["node"] for each in tenure("node", "list", "--json").lines] == ["cluster-1"]
    token = tenure("node", "token", "cluster-1", "--json").json
    assert token["access_token"]["label"] == "agent of cluster-1"
    assert len(token["secret"]) > 20


def test_a_definition_may_come_from_a_file(tenure, tmp_path):
    spec = tmp_path / "node.json"
    spec.write_text(json.dumps({"queues": {"fast": {"partition": "gpu"}}, "silent_after_seconds": 30}))
    answer = tenure("node", "define", "other", "--spec", f"@{spec}", "--max-attempts", "9", "--json")
    assert (answer.json["spec"]["silent_after_seconds"], answer.json["spec"]["max_attempts"]) == (30, 9)


@pytest.mark.parametrize("queue", ["normal=cpu", "normal=max_cpu:many", "normal=colour:red", ""])
def test_what_is_no_queue_is_refused_in_a_sentence(tenure, queue):
    answer = tenure("node", "define", "cluster-1", "--queue", queue)
    assert answer.code == 1
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("name", ["a b", "a@b", "", ".a", "a/b", "ä", "a\n", "n" * 101])
def test_what_is_no_name_of_a_node_is_refused_in_a_sentence(tenure, name):
    answer = tenure("node", "define", name, "--queue", "normal", "--json")
    assert (answer.code, json.loads(answer.err)["error"]["code"]) == (1, "invalid_request")
    assert "is no name of a management node" in answer.err
    assert tenure("node", "list", "--json").lines == []


def test_a_submission_from_its_command_to_its_end(tenure, node, submitted):
    (work,) = node.poll_node("cluster-1", {"agent_id": "a", "accepting": 1}).work
    joins = work.model_dump(
        mode="json",
        include={"tenant_id", "workspace_id", "job_id", "submission_id", "execution_id", "trace_id"},
    )
    events = [
        joins | {"event_id": "1", "state": "accepted", "occurred_at": "2026-03-01T12:00:00Z"},
        joins | {
            "event_id": "2", "state": "running", "occurred_at": "2026-03-01T12:00:00Z", "scheduler_ref": {"slurm_job_id": "4711"},
        },
    ]  # fmt: skip
    node.receive_events(events)

    shown = tenure("submission", "show", submitted)
    assert "running" in shown.out
    assert "4711" in shown.out
    assert [s["submission_id"] for s in tenure("submission", "list", "--state", "running", "--json").lines] == [
        submitted
    ]
    assert tenure("submission", "list", "--state", "failed").out.strip() == "There are no such submissions."
    told = tenure("submission", "history", submitted).out
    assert "execution 1 running" in told
    assert "running: Running on" in told

    assert tenure("submission", "cancel", submitted, "--reason", "not needed").code == 0
    after = tenure("submission", "show", submitted, "--json").json
    assert (after["projection_state"], after["failure"]["code"]) == ("failed", "canceled")
    assert "to be ended" in tenure("submission", "show", submitted).out
    again = tenure("submission", "cancel", submitted)
    assert (again.code, "CANCELED" in again.err) == (1, True)


def test_where_a_failed_execution_left_its_output_is_printed(tenure, node, submitted):
    (work,) = node.poll_node("cluster-1", {"agent_id": "a", "accepting": 1}).work
    joins = work.model_dump(
        mode="json",
        include={"tenant_id", "workspace_id", "job_id", "submission_id", "execution_id", "trace_id"},
    ) | {"occurred_at": "2026-03-01T12:00:00Z"}  # fmt: skip
    error = {"code": "FAILED", "message": "It ended with 3.", "retryable": True}
    node.receive_events([
        joins | {"event_id": "1", "state": "accepted"}, joins | {"event_id": "2", "state": "running"},
        joins | {"event_id": "3", "state": "failed", "error": error, "result_ref": {"output_uri": "s3://out/1/"}},
    ])  # fmt: skip

    assert "s3://out/1/" in tenure("submission", "show", submitted).out
    told = tenure("submission", "history", submitted).out
    assert "failed," in told
    assert "output at s3://out/1/" in told


def test_what_is_not_there_is_said(tenure, node):
    assert "no such submission" in tenure("submission", "show", "JX-YGJ24").err
    assert "no management node 'nowhere'" in tenure("node", "show", "nowhere").err
    other = tenure("submission", "submit", json.dumps(COMMAND | {"management_node_id": "nowhere"}))
    assert (other.code, "tenure node define" in other.err) == (1, True)


@pytest.mark.parametrize("as_json", [True, False])
def test_the_line_of_an_event_reads_well_on_a_servers_terminal(capsys, as_json):
    log_to(Call(json=as_json))
    log_event({"event_id": "e-1", "state": "running", "job_id": "job-1"}, "refused", "invalid_transition")
    told = capsys.readouterr()
    if as_json:
        line = json.loads(told.out)
        assert (line["logger"], line["state"], line["code"], line["tenant_id"]) == (
            "tenure.remote", "running", "invalid_transition", None,
        )  # fmt: skip
    else:
        assert "outcome=refused code=invalid_transition state=running job_id=job-1 event_id=e-1" in told.err
