"""Submitting: who may, what is allowed, and that the same command is answered as the first time (design 04)."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tenure.testing.clock import MovableClock
from tests.remote.border import Border, R


def test_the_same_command_is_answered_byte_for_byte_and_creates_nothing(border: Border) -> None:
    border.poll(accepting=0)
    command = border.command()
    first = border.ask_submit(command)
    again = border.ask_submit(command)
    other_session = copy.deepcopy(command)
    other_session["requested_by"]["session_id"] = "another"
    without = copy.deepcopy(command)
    del without["requested_by"]["session_id"]

    answers = [first, again, border.ask_submit(other_session), border.ask_submit(without)]

    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.content for answer in answers}) == 1
    assert len(border.reader.get(f"{R}/submissions")["items"]) == 1
    assert border.fact_count(first.json()["submission_id"]) == (2, 1)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("job_id", "other"), ("execution_profile.queue_name", "open"), ("execution_profile.qos", "high"),
        ("resource_shape.cpu", 3), ("resource_shape.walltime_seconds", 601), ("payload_ref.input_uri", "s3://other"),
        ("payload_ref.artifact_bucket", "s3://b"), ("requested_by.user_id", "u-2"), ("trace_id", "t-2"),
        ("management_node_id", "elsewhere"),
    ],
)  # fmt: skip
def test_any_other_difference_under_the_same_key_is_a_conflict(border: Border, path: str, value: Any) -> None:
    border.poll(accepting=0)
    command = border.command()
    submission = border.ask_submit(command).json()["submission_id"]
    changed = copy.deepcopy(command)
    place = changed
    *parents, last = path.split(".")
    for parent in parents:
        place = place[parent]
    place[last] = value

    answer = border.ask_submit(changed)

    assert (answer.status_code, answer.json()["code"]) == (409, "idempotency_conflict")
    assert border.fact_count(submission) == (2, 1)
    assert [refusal["code"] for refusal in border.history(submission)["refusals"]] == ["idempotency_conflict"]


def test_a_key_belongs_to_a_workspace(border: Border) -> None:
    one = border.submit(idempotency_key="same")
    other = border.submit(idempotency_key="same", workspace_id="ws-2")
    assert one["submission_id"] != other["submission_id"]


@pytest.mark.parametrize(
    ("profile", "shape", "says"),
    [
        ({"queue_name": "gpu"}, {}, "has no queue 'gpu'"),
        ({"queue_name": "normal", "account": "other"}, {}, "does not take account 'other'"),
        ({"queue_name": "normal", "qos": "low"}, {}, "does not take qos 'low'"),
        ({"queue_name": "open", "qos": "any"}, {}, "does not take qos 'any'"),
        ({"queue_name": "normal"}, {"walltime_seconds": 3601}, "3600 seconds of wall time at most"),
        ({"queue_name": "normal"}, {"cpu": 65}, "64 cores at most"),
        ({"queue_name": "normal"}, {"memory_mib": 1001}, "1000 MiB of memory at most"),
    ],
)  # fmt: skip
def test_what_the_mapping_does_not_allow_is_rejected_with_a_sentence(
    border: Border, profile: dict[str, Any], shape: dict[str, Any], says: str
) -> None:
    border.poll(accepting=0)
    command = border.command(execution_profile=profile)
    command["resource_shape"] |= shape
    answer = border.ask_submit(command)
    assert (answer.status_code, answer.json()["code"]) == (422, "policy_rejected")
    assert says in answer.json()["detail"]
    assert border.reader.get(f"{R}/submissions")["items"] == []


@pytest.mark.parametrize(
    ("profile", "placement"),
    [
        ({"queue_name": "normal"}, {"partition": "cpu", "account": "lab", "qos": None}),
        ({"queue_name": "normal", "account": "grant", "qos": "high"}, {"partition": "cpu", "account": "grant", "qos": "high"}),
        ({"queue_name": "normal", "account": "lab"}, {"partition": "cpu", "account": "lab", "qos": None}),
        ({"queue_name": "open"}, {"partition": None, "account": None, "qos": None}),
    ],
)  # fmt: skip
def test_the_mapping_says_where_it_runs(border: Border, profile: dict[str, Any], placement: dict[str, Any]) -> None:
    assert border.handed_out(execution_profile=profile)["placement"] == placement


def test_a_silent_node_takes_nothing_new_and_says_when_to_come_back(border: Border, clock: MovableClock) -> None:
    never = border.ask_submit(border.command())
    assert (never.status_code, never.json()["code"]) == (503, "execution_unavailable")
    accepted = border.submit()
    clock.advance(seconds=121)

    answer = border.ask_submit(border.command())

    assert (answer.status_code, answer.json()["code"]) == (503, "execution_unavailable")
    assert int(answer.headers["retry-after"]) >= 1
    assert border.site.admin.get(f"{R}/nodes/{border.node}")["silent"] is True
    border.poll(accepting=0)
    assert border.ask_submit(border.command()).status_code == 202
    assert border.shown(accepted["submission_id"])["projection_state"] == "queued"


def test_a_replay_is_answered_also_while_the_node_is_silent(border: Border, clock: MovableClock) -> None:
    border.poll(accepting=0)
    command = border.command()
    first = border.ask_submit(command)
    clock.advance(seconds=121)
    assert border.ask_submit(command).content == first.content


def test_an_unknown_node_and_another_tenant_are_told_apart(border: Border) -> None:
    border.poll(accepting=0)
    unknown = border.ask_submit(border.command(management_node_id="nowhere"))
    assert (unknown.status_code, unknown.json()["code"]) == (404, "management_node_not_found")
    foreign = border.ask_submit(border.command(tenant_id="somebody-else"))
    assert (foreign.status_code, foreign.json()["code"]) == (403, "forbidden")
    broken = border.ask_submit(
        {**border.command(), "resource_shape": {"cpu": 0, "memory_mib": 1, "walltime_seconds": 1}}
    )
    assert (broken.status_code, broken.json()["code"]) == (400, "invalid_request")
    assert border.reader.get(f"{R}/submissions")["items"] == []


@pytest.mark.parametrize("value", ["2", True, 2.5])
def test_a_shape_is_made_of_integers_and_2_0_is_one(border: Border, value: Any) -> None:
    border.poll(accepting=0)
    command = border.command()
    for field in command["resource_shape"]:
        answer = border.ask_submit(command | {"resource_shape": command["resource_shape"] | {field: value}})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert border.reader.get(f"{R}/submissions")["items"] == []

    answers = [
        border.ask_submit(command | {"resource_shape": command["resource_shape"] | {"cpu": cpu}}) for cpu in (2.0, 2)
    ]

    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].content == answers[1].content, "the same command"


def test_lists_are_filtered_and_paged(border: Border) -> None:
    made = [border.submit(workspace_id=f"ws-{n % 2}")["submission_id"] for n in range(5)]
    work = next(w for w in border.poll()["work"] if w["submission_id"] == made[0])
    border.tell(work, "accepted", "running")

    def listed(**chosen: Any) -> list[str]:
        found, cursor = [], None
        while True:
            page = border.reader.get(f"{R}/submissions", limit=2, cursor=cursor, **chosen)
            found += [item["submission_id"] for item in page["items"]]
            cursor = page["next"]
            if cursor is None:
                return found

    assert listed() == made[::-1]
    assert listed(workspace_id="ws-1") == [made[3], made[1]]
    assert listed(projection_state="running") == [made[0]]
    assert listed(node=border.node, projection_state="queued") == made[:0:-1]
    job = border.shown(made[2])["job_id"]
    assert listed(job_id=job) == [made[2]]
    nowhere = border.reader.request("GET", f"{R}/submissions", params={"node": "nowhere"})
    assert nowhere.json()["code"] == "management_node_not_found"
