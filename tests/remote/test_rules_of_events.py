"""S5's rules, one by one: every state, every event, the same id or a new one, the right tenant or another, whole or not.

Each case has a submission of its own and must give exactly the status and code, and leave exactly the facts, of the table.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from tenure.remote.model.names import submission_uid
from tests.api.conftest import Running, Site
from tests.remote.border import STATES, Border, R

BEFORE = (None, *STATES)
#: How a submission comes to stand so, one event after the other.
PATHS: dict[str | None, tuple[str, ...]] = {
    None: (), "accepted": ("accepted",), "running": ("accepted", "running"),
    "completed": ("accepted", "running", "completed"), "failed": ("accepted", "failed"),
}  # fmt: skip
NEXT: dict[str | None, set[str]] = {
    None: {"accepted"}, "accepted": {"running", "failed"}, "running": {"completed", "failed"}, "completed": set(), "failed": set(),
}  # fmt: skip
#: What each applied event adds: facts of the submission (the event, and the projection), facts of the subject.
ADDS = {"accepted": (2, 1), "running": (2, 1), "completed": (2, 1), "failed": (2, 1)}
MISSING = {"accepted": "trace_id", "running": "occurred_at", "completed": "result_ref", "failed": "error"}


@dataclass(frozen=True)
class Case:
    before: str | None
    event: str
    same_id: bool
    own_tenant: bool
    whole: bool

    def __str__(self) -> str:
        words = (
            "same-id" if self.same_id else "new-id",
            "own" if self.own_tenant else "other-tenant",
            "whole" if self.whole else "lacking",
        )
        return "-".join([self.before or "handed-out", self.event, *words])

    @property
    def answer(self) -> tuple[int, str]:
        """Status, and code or outcome."""
        if not self.whole:
            return 400, "invalid_event"
        if not self.own_tenant:
            return 403, "forbidden"
        if self.same_id:
            return 200, "duplicate"
        return (200, "applied") if self.event in NEXT[self.before] else (409, "invalid_transition")

    @property
    def leaves(self) -> tuple[int, int, int]:
        """How many facts of the submission, facts of the subject and refusals it adds."""
        status, said = self.answer
        if said == "applied":
            return (*ADDS[self.event], 0)
        # The same id with another content is a replay all the same; that it was reused is kept.
        reused = said == "duplicate" and self.event != self.before
        return 0, 0, int(status in (403, 409) or reused)


CASES = [
    case for case in itertools.starmap(Case, itertools.product(BEFORE, STATES, (False, True), (True, False), (True, False)))
    if not (case.same_id and case.before is None)
]  # fmt: skip


_COUNTS = """
select (select count(*) from tenure.fact where thread = s.uid), (select count(*) from tenure.fact where thread = s.subject),
    (select count(*) from tenure.refusal where subject = s.subject)
from tenure.remote_submission s where s.uid = %s
"""


@dataclass
class Scene:
    border: Border
    connection: psycopg.Connection[Any]
    works: dict[Case, dict[str, Any]]
    last_events: dict[Case, dict[str, Any]]

    def counted(self, case: Case) -> tuple[int, int, int]:
        uid = submission_uid(self.works[case]["submission_id"])
        row = self.connection.execute(_COUNTS, [uid]).fetchone()
        assert row is not None
        return row


@pytest.fixture(scope="module")
def scene(server: Running) -> Iterator[Scene]:
    """A submission for each case, brought to where the case begins."""
    site = Site(server, "rules-of-events")
    border = Border(site)
    border.poll(accepting=0)
    ids = {}
    for case in CASES:
        answer = border.ask_submit(border.command(job_id=str(case)))
        assert answer.status_code == 202, answer.text
        ids[answer.json()["submission_id"]] = case
    handed = border.poll(accepting=500)["work"]
    works = {ids[work["submission_id"]]: work for work in handed}
    last: dict[Case, dict[str, Any]] = {}
    events = []
    for case, work in works.items():
        for state in PATHS[case.before]:
            last[case] = border.event(work, state, scheduler_ref={"slurm_job_id": "1"})
            events.append(last[case])
    for first in range(0, len(events), 500):
        answer = border.emitter.request("POST", f"{R}/events/batch", json={"events": events[first : first + 500]})
        assert answer.status_code == 200, answer.text
        assert {result["status"] for result in answer.json()["results"]} == {200}, answer.text
    with psycopg.connect(site.server.settings.dsn, autocommit=True) as connection:
        yield Scene(border, connection, works, last)
    site.close()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_event_has_its_answer_and_leaves_its_facts(scene: Scene, case: Case) -> None:
    event = scene.border.event(scene.works[case], case.event)
    if case.same_id:
        event["event_id"] = scene.last_events[case]["event_id"]
        if case.event == case.before:
            event = dict(scene.last_events[case])
    if not case.own_tenant:
        event["tenant_id"] = "somebody-else"
    if not case.whole:
        del event[MISSING[case.event]]
    before = scene.counted(case)

    response = scene.border.report(event)

    body = response.json()
    assert (response.status_code, body.get("code") or body["outcome"]) == case.answer, response.text
    after = scene.counted(case)
    assert tuple(a - b for a, b in zip(after, before, strict=True)) == case.leaves
    if response.status_code == 200:
        assert body["state"] == (case.event if body["outcome"] == "applied" else case.before)


def test_a_failed_event_lacks_each_of_what_it_needs_and_changes_nothing(scene: Scene) -> None:
    case = Case("running", "failed", same_id=False, own_tenant=True, whole=False)
    before = scene.counted(case)
    for field in ("code", "message", "retryable"):
        event = scene.border.event(scene.works[case], "failed")
        event["error"] = {k: v for k, v in event["error"].items() if k != field}
        response = scene.border.report(event)
        assert (response.status_code, response.json()["code"]) == (400, "invalid_event")
    event = scene.border.event(scene.works[case], "completed", result_ref={"metadata_uri": "s3://m"})
    assert scene.border.report(event).json()["code"] == "invalid_event"
    assert scene.counted(case) == before


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("occurred_at", 1700000000), ("occurred_at", "2026-03-01 12:00:00Z"), ("occurred_at", "2026-03-01T12:00:00"),
        ("error.retryable", "no"), ("error.retryable", 0),
    ],
)  # fmt: skip
def test_an_event_with_a_value_of_another_type_is_invalid_alone_and_in_a_batch(
    scene: Scene, path: str, value: Any
) -> None:
    case = Case("running", "failed", same_id=False, own_tenant=True, whole=False)
    before = scene.counted(case)
    event = scene.border.event(scene.works[case], "failed")
    *parents, last = path.split(".")
    place = event
    for parent in parents:
        place[parent] = place = dict(place[parent])
    place[last] = value

    alone = scene.border.report(event)
    batch = scene.border.emitter.request("POST", f"{R}/events/batch", json={"events": [event]}).json()["results"]

    assert (alone.status_code, alone.json()["code"]) == (400, "invalid_event")
    assert alone.json()["detail"].startswith(f"{path}: ")
    assert [(result["status"], result["code"]) for result in batch] == [(400, "invalid_event")]
    assert scene.counted(case) == before


def test_nothing_diverges_after_all_that(scene: Scene) -> None:
    assert scene.border.site.trusted.verify().found == {}
