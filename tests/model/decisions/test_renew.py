"""renew_queue_lease (S1 section 6.3)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenure.model import fact_types as ft
from tenure.model.errors import WorkerNotAccepting, WorkerSuperseded
from tenure.model.states import State, WorkerStatus
from tests.model.scene import T0, A, Scene, queue


def claimed(**values: object) -> Scene:
    scene = Scene()
    scene.claim(**values)
    return scene


def expiry(scene: Scene) -> float:
    """Seconds from the beginning until the lease ends."""
    assert scene.attempt.expires_at is not None
    return (scene.attempt.expires_at - T0).total_seconds()


def test_a_renewed_lease_lasts_its_time_from_now() -> None:
    scene = claimed()
    fact = scene.wait(20).renew()
    assert (fact.type, fact.data) == (ft.RENEWED, {"expires_at": "2026-01-05T12:01:20.000000+00:00"})
    assert (expiry(scene), scene.attempt.heartbeat_at) == (80, T0 + timedelta(seconds=20))


def test_a_renewal_changes_neither_state_nor_revision() -> None:
    scene = claimed()
    scene.renew()
    assert (scene.state, scene.envelope.revision, scene.envelope.seq) == (State.RUNNING, 2, 3)


def test_a_lease_that_was_taken_for_longer_is_renewed_for_as_long() -> None:
    scene = claimed(ttl_seconds=600)
    scene.wait(100).renew()
    assert expiry(scene) == 700


def test_a_renewal_may_ask_for_another_time() -> None:
    scene = claimed()
    scene.wait(10).renew(ttl_seconds=500)
    assert expiry(scene) == 510


def test_a_lease_never_gets_shorter() -> None:
    scene = claimed()
    scene.wait(10).renew(ttl_seconds=1)
    assert expiry(scene) == 60


def test_the_time_of_the_lease_outweighs_a_policy_that_changed_since() -> None:
    scene = claimed()
    scene.queues["q"] = queue(lease_ttl_seconds=5000)
    scene.wait(10).renew()
    assert expiry(scene) == 70


@pytest.mark.parametrize("status", [WorkerStatus.DISABLED, WorkerStatus.RETIRED])
def test_a_stopped_worker_may_not_renew(status: WorkerStatus) -> None:
    scene = claimed()
    scene.workers[A] = scene.workers[A].model_copy(update={"status": status})
    with pytest.raises(WorkerNotAccepting, match=str(status)):
        scene.renew()


def test_a_draining_worker_may_renew() -> None:
    scene = claimed()
    scene.workers[A] = scene.workers[A].model_copy(update={"status": WorkerStatus.DRAINING, "drain_requested": True})
    scene.wait(30).renew()
    assert expiry(scene) == 90


def test_a_former_incarnation_may_not_renew() -> None:
    scene = claimed()
    scene.workers[A] = scene.workers[A].model_copy(update={"incarnation": 2})
    with pytest.raises(WorkerSuperseded) as refused:
        scene.renew()
    assert refused.value.evidence == {"incarnation": 1, "current": 2}


@pytest.mark.parametrize("state", ["READY", "RUNNING", "WAITING_EXTERNAL"])
def test_any_lease_that_is_held_may_be_renewed(state: str) -> None:
    scene = claimed(start=state != "READY")
    if state == "WAITING_EXTERNAL":
        scene.dispatch(deadline=T0 + timedelta(seconds=30))
    scene.renew()
    assert (str(scene.state), expiry(scene)) == (state, 60)
