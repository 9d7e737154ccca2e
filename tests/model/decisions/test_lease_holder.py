"""Fencing and the guards that every action of a holder has (design 01, Fencing; S1 sections 7.3 to 7.5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tenure.model.errors import (
    Forbidden,
    IdempotencyConflict,
    LeaseExpired,
    NotFound,
    RevisionConflict,
    SeqConflict,
    StaleLease,
    StateConflict,
    TenureError,
)
from tenure.model.fact import Fact
from tests.model.scene import T0, A, B, Scene, token_of

#: Each action of a holder: how it is asked for, and whether it needs a started attempt.
ACTIONS: dict[str, tuple[Callable[..., Fact], bool]] = {
    "start": (Scene.start, False),
    "dispatch": (Scene.dispatch, True),
    "renew": (Scene.renew, True),
    "release": (Scene.release, True),
    "defer": (lambda scene, holder=A, **v: scene.defer(holder, **{"until": T0 + timedelta(hours=1)} | v), True),
    "complete": (Scene.complete, True),
    "fail": (Scene.fail, True),
}
every_action = pytest.mark.parametrize("name", ACTIONS)


def under_lease(name: str) -> tuple[Scene, Callable[..., Fact]]:
    act, started = ACTIONS[name]
    scene = Scene()
    scene.claim(start=started)
    return scene, lambda *args, **values: act(scene, *args, **values)


def refused(scene: Scene, act: Callable[..., Fact], kind: type[TenureError], *args: Any, **values: Any) -> TenureError:
    """The refusal, after making sure that nothing was changed."""
    before, told = scene.thread, list(scene.facts)
    with pytest.raises(kind) as caught:
        act(*args, **values)
    assert type(caught.value) is kind
    assert (scene.thread, scene.facts) == (before, told)
    return caught.value


@every_action
def test_the_holder_of_a_live_lease_may_act(name: str) -> None:
    scene, act = under_lease(name)
    fact = act(idempotency_key="k")
    assert (fact.lease, fact.worker, fact.actor) == (scene.lease_of(A).uid, A, "tester")
    assert (fact.queue_key, fact.idempotency_key, fact.at) == ("q", "k", scene.now)


@every_action
def test_another_worker_may_not_act_on_it(name: str) -> None:
    scene, act = under_lease(name)
    refused(scene, act, Forbidden, lease=scene.attempt.uid, worker=B, token_hash=token_of(A))


@every_action
def test_another_token_may_not_act_on_it(name: str) -> None:
    scene, act = under_lease(name)
    refused(scene, act, Forbidden, token_hash=token_of(B))


@every_action
def test_expired_owner_cannot_act(name: str) -> None:
    scene, act = under_lease(name)
    scene.wait(60)
    error = refused(scene, act, LeaseExpired)
    assert error.evidence == {"expires_at": "2026-01-05T12:01:00+00:00"}


@every_action
def test_an_owner_may_act_until_the_last_moment(name: str) -> None:
    scene, act = under_lease(name)
    scene.wait(59.999999)
    act()


@every_action
def test_an_owner_whose_lease_was_swept_and_taken_over_cannot_act(name: str) -> None:
    scene, act = under_lease(name)
    scene.wait(60).expire()
    scene.claim(B)
    refused(scene, act, LeaseExpired)


@every_action
def test_a_superseded_owner_cannot_act(name: str) -> None:
    scene, act = under_lease(name)
    scene.hold()
    error = refused(scene, act, StaleLease)
    assert error.evidence == {"lease_status": "ABANDONED"}


@every_action
def test_a_lease_that_never_was_is_not_found(name: str) -> None:
    scene, act = under_lease(name)
    refused(scene, act, NotFound, lease=4096)


@every_action
def test_a_reconciliation_is_no_lease(name: str) -> None:
    scene, act = under_lease(name)
    if scene.attempt.started_at is None:
        scene.start()
    scene.requeue()
    refused(scene, act, NotFound, lease=scene.attempt.uid)


@every_action
def test_a_wrong_expected_state_is_a_conflict(name: str) -> None:
    scene, act = under_lease(name)
    error = refused(scene, act, StateConflict, expected_state="HELD")
    assert error.evidence == {"expected": "HELD", "actual": str(scene.state)}


@every_action
def test_a_wrong_expected_revision_is_a_conflict(name: str) -> None:
    scene, act = under_lease(name)
    error = refused(scene, act, RevisionConflict, expected_revision=7)
    assert error.evidence == {"expected": 7, "actual": scene.envelope.revision}


@every_action
def test_a_wrong_expected_seq_is_a_conflict(name: str) -> None:
    scene, act = under_lease(name)
    error = refused(scene, act, SeqConflict, expected_seq=7)
    assert error.evidence == {"expected": 7, "actual": scene.envelope.seq}


@every_action
def test_guards_that_hold_let_the_action_pass(name: str) -> None:
    scene, act = under_lease(name)
    env = scene.envelope
    act(expected_state=env.state, expected_revision=env.revision, expected_seq=env.seq)


@pytest.mark.parametrize("name", [name for name in ACTIONS if name != "renew"])
def test_the_same_request_again_is_answered_by_the_same_fact(name: str) -> None:
    scene, act = under_lease(name)
    first = act(idempotency_key="k")
    facts = len(scene.facts)
    assert act(idempotency_key="k", lease=first.lease) is first
    assert len(scene.facts) == facts


@pytest.mark.parametrize("name", ["release", "defer", "complete", "fail"])
def test_the_lease_is_the_key_of_its_terminal_action(name: str) -> None:
    scene, act = under_lease(name)
    first = act()
    scene.wait(3600)
    assert act(lease=first.lease) is first


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("dispatch", {"external_ref": "slurm:2"}),
        ("release", {"reason": "another"}),
        ("defer", {"until": T0 + timedelta(hours=2)}),
        ("complete", {"result": 2}),
        ("fail", {"error_code": "E2"}),
    ],
)
def test_another_payload_under_the_same_key_is_a_conflict_and_changes_nothing(name: str, other: Any) -> None:
    scene, act = under_lease(name)
    lease = act(idempotency_key="k").lease
    error = refused(scene, act, IdempotencyConflict, lease=lease, idempotency_key="k", **other)
    assert error.evidence == {"idempotency_key": "k"}


def test_a_replay_is_answered_even_after_the_lease_is_gone() -> None:
    scene, act = under_lease("complete")
    first = act(idempotency_key="k")
    scene.wait(10_000)
    assert act(idempotency_key="k", expected_state="RUNNING") is first


def test_a_fact_without_payload_hash_answers_any_payload() -> None:
    # Facts of the plain completion may carry none.
    scene, act = under_lease("complete")
    act(idempotency_key="k")
    scene.facts[-1] = replace(scene.facts[-1], payload_hash=None)
    assert act(idempotency_key="k", result=5) is scene.facts[-1]
