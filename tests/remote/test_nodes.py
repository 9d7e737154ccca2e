"""Nodes and their polls: who is the node, what it is handed out, and how often (decision 13)."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from tenure.testing.clock import MovableClock
from tests.remote.border import SPEC, Border, R
from tests.waiting import until


def test_a_node_is_defined_once_and_changed_where_it_differs(border: Border) -> None:
    assert border.define()["seq"] == border.defined["seq"] == 1
    changed = border.define(max_attempts=7, lease_seconds=77)
    assert (changed["seq"], changed["spec"]["max_attempts"]) == (2, 7)
    queue = border.site.trusted.queue("remote.cluster-1")
    assert (queue.max_attempts_default, queue.lease_ttl_seconds) == (7, 77)
    assert [node["node"] for node in border.site.admin.get(f"{R}/nodes")["items"]] == [border.node]


def test_a_hundred_plain_queues_are_defined_and_changed(border: Border) -> None:
    queues = {
        f"queue-{n:03}": {"partition": f"part-{n:03}", "account": "lab", "max_walltime_seconds": 86400}
        for n in range(100)
    }
    defined = border.define(queues=queues)
    assert len(defined["spec"]["queues"]) == 100
    assert border.define(queues=queues)["seq"] == defined["seq"], "the same again changes nothing"
    one = defined["spec"]["queues"]["queue-007"]
    assert (one["partition"], one["account"], one["qos"], one["accounts"]) == ("part-007", "lab", None, [])
    fresh = border.site.admin.request("PUT", f"{R}/nodes/fresh", json={"queues": queues})
    assert (fresh.status_code, len(fresh.json()["spec"]["queues"])) == (200, 100)


def test_a_definition_that_is_too_long_is_refused_with_what_to_do(border: Border) -> None:
    queues = {f"queue-{n:03}": {"accounts": [f"account-{each}" for each in range(10)]} for n in range(100)}
    answer = border.site.admin.request("PUT", f"{R}/nodes/{border.node}", json=SPEC | {"queues": queues})
    assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")
    assert "definition of node cluster-1" in answer.json()["detail"]
    assert "fewer queues" in answer.json()["hint"]
    assert border.site.admin.get(f"{R}/nodes/{border.node}")["spec"] == border.defined["spec"]


@pytest.mark.parametrize(
    ("field", "value"), [("accepting", "1"), ("accepting", True), ("draining", "no"), ("wait_seconds", "0")]
)
def test_a_poll_with_a_value_of_another_type_is_invalid(border: Border, field: str, value: Any) -> None:
    answer = border.ask_poll(**{field: value})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


@pytest.mark.parametrize(
    "change", [{"max_attempts": "7"}, {"lease_seconds": True}, {"queues": {"normal": {"max_cpu": "4"}}}]
)
def test_a_definition_with_a_value_of_another_type_is_invalid(border: Border, change: dict[str, Any]) -> None:
    answer = border.site.admin.request("PUT", f"{R}/nodes/{border.node}", json=SPEC | change)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


def test_a_principal_is_bound_to_one_node(border: Border) -> None:
    body = SPEC | {"principal": border.defined["principal"]}
    answer = border.site.admin.request("PUT", f"{R}/nodes/cluster-2", json=body)
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


def test_a_node_polls_for_itself_only(border: Border) -> None:
    other = Border(border.site, node="cluster-2")
    foreign = border.ask_poll(by=other.emitter)
    assert (foreign.status_code, foreign.json()["code"]) == (403, "forbidden")
    nowhere = border.ask_poll(node="nowhere")
    assert (nowhere.status_code, nowhere.json()["code"]) == (404, "management_node_not_found")


def test_a_token_says_which_node_it_is_of(border: Border) -> None:
    other = Border(border.site, node="cluster-2")
    for each in (border, other):
        assert each.emitter.get(f"{R}/node")["node"] == each.node
    unbound = border.site.as_("management_node", name="agent:nobody").request("GET", f"{R}/node")
    assert (unbound.status_code, unbound.json()["code"]) == (404, "management_node_not_found")
    assert "You are bound to node cluster-2" in border.ask_poll(by=other.emitter).json()["detail"]


def test_an_agent_of_another_folder_waits_until_the_nodes_own_may_not_submit_any_more(
    border: Border, clock: MovableClock
) -> None:
    work = border.handed_out()
    lease = border.poll(folder_id="one")["submit_within_seconds"]
    clock.advance(seconds=lease + 1)
    second = border.ask_poll(agent_id="second", folder_id="two")
    assert (second.status_code, second.json()["code"]) == (409, "node_has_agent")
    assert "another state folder" in second.json()["detail"]
    assert border.poll(folder_id="one")["work"] == [work], "nothing has changed for the first"
    again = border.poll(agent_id="restarted", folder_id="one")
    assert again["work"] == [work], "the same folder goes on at once"
    clock.advance(seconds=59)
    assert border.ask_poll(agent_id="second", folder_id="two").status_code == 409
    clock.advance(seconds=1)
    assert border.poll(agent_id="second", folder_id="two")["work"] == [work]
    back = border.ask_poll(agent_id="restarted", folder_id="one")
    assert (back.status_code, back.json()["code"]) == (409, "worker_superseded")
    restarted = border.ask_poll(agent_id="restarted again", folder_id="one")
    assert (restarted.status_code, restarted.json()["code"]) == (409, "node_has_agent")


def test_what_may_be_submitted_is_nobody_elses_before_twice_that_time(border: Border, clock: MovableClock) -> None:
    border.define(lease_seconds=86400)
    orders = border.poll(folder_id="one", accepting=0)
    assert orders["submit_within_seconds"] == 150
    assert orders["renew_within_seconds"] <= orders["submit_within_seconds"] / 2
    clock.advance(seconds=299)
    assert border.ask_poll(agent_id="second", folder_id="two").status_code == 409
    clock.advance(seconds=1)
    assert border.ask_poll(agent_id="second", folder_id="two").status_code == 200


def test_an_agent_of_before_is_answered_as_before(border: Border) -> None:
    border.submit()
    assert set(border.poll()) == {"work", "cancel", "renew_within_seconds"}


def test_a_node_reports_of_its_own_work_only(border: Border) -> None:
    other = Border(border.site, node="cluster-2")
    work = border.handed_out()
    answer = border.report(border.event(work, "accepted"), by=other.emitter)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert border.types(work["submission_id"]) == ["submission.accepted", "projection.updated"]


def test_the_newest_agent_is_the_node(border: Border) -> None:
    border.poll(accepting=0)
    border.poll(agent_id="second", accepting=0)
    for _ in range(2):
        answer = border.ask_poll()
        assert (answer.status_code, answer.json()["code"]) == (409, "worker_superseded")
    border.poll(agent_id="second", accepting=0)
    assert border.site.admin.get(f"{R}/nodes/{border.node}")["agent_id"] == "second"


def test_work_is_told_again_until_the_node_holds_it(border: Border) -> None:
    accepted = border.submit()
    first = border.poll()["work"]
    assert [w["submission_id"] for w in first] == [accepted["submission_id"]]
    assert border.poll()["work"] == first
    assert border.poll(agent_id="after a crash")["work"] == first
    border.agent_id = "after a crash"
    assert border.poll(holding=[first[0]["execution_id"]])["work"] == []
    border.tell(first[0], "accepted")
    assert border.poll()["work"] == []


def test_no_more_is_handed_out_than_the_node_would_take(border: Border) -> None:
    for _ in range(4):
        border.submit()
    assert len(border.poll(accepting=2)["work"]) == 2
    assert len(border.poll(accepting=2)["work"]) == 2, "the same two, which it does not hold yet"
    assert len(border.poll(accepting=3)["work"]) == 3
    assert border.poll(accepting=10, draining=True, holding=[])["work"] != []
    assert len(border.poll(accepting=10)["work"]) == 4


def test_what_lapses_unaccepted_is_handed_out_as_the_same_execution(border: Border, clock: MovableClock) -> None:
    work = border.handed_out()
    clock.advance(seconds=61)
    again = border.poll()["work"]
    assert again == [work]
    shown = border.shown(work["submission_id"])
    assert [e["number"] for e in shown["executions"]] == [1]
    assert border.tell(again[0], "accepted")["outcome"] == "applied"


def test_a_poll_holds_on_to_what_is_not_accepted_yet(border: Border, clock: MovableClock) -> None:
    work = border.handed_out()
    for _ in range(4):
        clock.advance(seconds=40)
        border.poll(accepting=0, holding=[work["execution_id"]])
    leases = border.subject(work["submission_id"]).situation.thread.attempts
    assert len(leases) == 1
    assert border.tell(work, "accepted")["outcome"] == "applied"


def test_accepted_takes_the_lease_anew_where_it_ran_out(border: Border, clock: MovableClock) -> None:
    work = border.handed_out()
    clock.advance(seconds=300)
    assert border.tell(work, "accepted")["outcome"] == "applied"
    assert border.state(work["submission_id"]) == "WAITING_EXTERNAL"
    assert border.tell(work, "running", "completed")["outcome"] == "applied"
    assert border.state(work["submission_id"]) == "COMPLETED"
    assert border.poll()["work"] == []


def test_outside_work_has_no_clock_of_ours(border: Border, clock: MovableClock) -> None:
    work = border.handed_out()
    border.tell(work, "accepted")
    clock.advance(days=3)
    assert border.poll()["work"] == []
    border.tell(work, "running")
    clock.advance(days=3)
    border.site.trusted.sweep()
    assert border.poll()["work"] == []
    assert border.tell(work, "completed")["outcome"] == "applied"


def test_a_long_poll_is_answered_as_soon_as_there_is_work(border: Border) -> None:
    border.poll(accepting=0)
    answers: list[Any] = []
    waiting = threading.Thread(target=lambda: answers.append(border.poll(wait_seconds=20)))
    waiting.start()
    lines = border.site.server.application.state.waiting.lines
    until(lambda: len(lines))
    began = time.monotonic()
    accepted = border.ask_submit(border.command()).json()
    waiting.join(20)
    assert [w["submission_id"] for w in answers[0]["work"]] == [accepted["submission_id"]]
    assert time.monotonic() - began < 10


def test_a_long_poll_hears_of_a_cancellation(border: Border) -> None:
    work = border.handed_out()
    border.tell(work, "accepted", "running")
    answers: list[Any] = []
    waiting = threading.Thread(target=lambda: answers.append(border.poll(accepting=0, wait_seconds=20)))
    waiting.start()
    lines = border.site.server.application.state.waiting.lines
    until(lambda: len(lines))
    began = time.monotonic()
    assert border.cancel(work["submission_id"]).status_code == 200
    waiting.join(20)
    assert answers[0]["cancel"] == [work["execution_id"]]
    assert time.monotonic() - began < 10


def test_what_a_node_says_of_its_scheduler_is_shown(border: Border, clock: MovableClock) -> None:
    border.poll(accepting=0, scheduler="slurm 22.05", scheduler_problem="slurmctld does not answer")
    first = border.site.admin.get(f"{R}/nodes/{border.node}")
    clock.advance(seconds=5)
    border.poll(accepting=0, scheduler="slurm 22.05", scheduler_problem="slurmctld does not answer")
    shown = border.site.admin.get(f"{R}/nodes/{border.node}")
    assert (shown["scheduler"], shown["scheduler_problem"]) == ("slurm 22.05", "slurmctld does not answer")
    assert shown["problem_since"] == first["problem_since"]
    border.poll(accepting=0)
    assert border.site.admin.get(f"{R}/nodes/{border.node}")["problem_since"] is None


@pytest.mark.parametrize("role", ["operator", "worker_service"])
def test_nobody_else_takes_from_a_nodes_queue(border: Border, role: str) -> None:
    border.submit()
    client = border.site.as_(role)
    worker = client.register("thief")
    assert client.refused("claim", worker_euid=worker["euid"], queue_key="remote.cluster-1") == "capability_mismatch"
    spec = {"worker_key": "thief-2", "capabilities": ["management-node:cluster-1"]}
    assert client.refused("register-worker", **spec) == "forbidden"


def test_what_the_node_holds_is_not_told_again_when_its_lease_is_taken_anew(
    border: Border, clock: MovableClock
) -> None:
    work = border.handed_out()
    border.agent_id = "after a crash"
    border.poll(accepting=0, holding=[work["execution_id"]])
    clock.advance(seconds=61)
    assert border.poll(holding=[work["execution_id"]])["work"] == []
    assert border.tell(work, "accepted")["outcome"] == "applied"
    assert len(border.shown(work["submission_id"])["executions"]) == 1


def test_what_was_submitted_to_another_node_is_held_and_goes_on_at_its_own(border: Border) -> None:
    other = Border(border.site, node="cluster-2")
    submission = border.submit()["submission_id"]
    subject = border.shown(submission)["subject"]
    border.site.trusted.requeue(subject, queue_key="remote.cluster-2", reason="it is quicker there")
    assert other.poll()["work"] == []
    (held,) = border.site.trusted.holds()
    assert (held.hold.hold_code, "submitted to node cluster-1" in held.hold.reason) == ("NOT_SUBMITTED_HERE", True)
    border.site.trusted.release_hold(subject)
    border.site.trusted.requeue(subject, queue_key="remote.cluster-1", reason="back")
    assert [w["submission_id"] for w in border.poll()["work"]] == [submission]
    assert border.site.trusted.verify().clean


def test_a_subject_that_is_no_submission_does_not_stop_the_node(border: Border) -> None:
    stranger = {"queue_key": "remote.cluster-1", "template": "remote/submission/1.0", "priority": 9}
    assert border.product.request("POST", "/subjects", json=stranger).status_code == 201
    submission = border.submit()["submission_id"]
    assert [w["submission_id"] for w in border.poll()["work"]] == [submission]
    (held,) = border.site.trusted.holds()
    assert held.hold.hold_code == "NOT_SUBMITTED_HERE"


def test_another_principal_may_be_bound_and_the_former_is_the_node_no_more(border: Border) -> None:
    bound = border.define(principal="agent:new")
    assert bound["principal"] == "agent:new"
    assert border.ask_poll().json()["code"] == "forbidden"
    assert border.ask_poll(by=border.client_of("agent:new"), agent_id="new").status_code == 200
    assert border.define()["principal"] == "agent:new"


@pytest.mark.parametrize("close", ["disable_worker", "drain_worker"])
def test_a_node_that_an_operator_has_closed_gets_nothing_new(border: Border, close: str) -> None:
    submission = border.submit()["submission_id"]
    worker = border.defined["worker"]
    getattr(border.site.trusted, close)(worker, reason="maintenance")
    assert border.poll()["work"] == []
    border.site.trusted.enable_worker(worker)
    assert [w["submission_id"] for w in border.poll()["work"]] == [submission]


def test_a_closed_queue_takes_no_submissions_and_hands_none_out(border: Border) -> None:
    submission = border.submit()["submission_id"]
    border.site.trusted.update_queue_policy("remote.cluster-1", enabled=False, disabled_reason="maintenance")
    assert border.poll()["work"] == []
    answer = border.ask_submit(border.command())
    assert (answer.status_code, answer.json()["code"], "maintenance" in answer.json()["detail"]) == (
        503, "execution_unavailable", True,
    )  # fmt: skip
    border.site.trusted.update_queue_policy("remote.cluster-1", enabled=True)
    assert [w["submission_id"] for w in border.poll()["work"]] == [submission]
