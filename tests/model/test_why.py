"""``why``: who could take it, or why nobody can (design 01, Reading)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tenure.model.states import WorkerStatus
from tenure.model.why import Situation, why
from tenure.model.worker import Worker
from tests.model.scene import T0, A, B, Scene, worker
from tests.model.sentences import is_advice, is_message


def codes(scene: Scene, *workers: Worker, live: dict[int, int] | None = None, ahead: int | None = None) -> list[str]:
    return [r.code for r in reasons(scene, *workers, live=live, ahead=ahead)]


def reasons(scene: Scene, *workers: Worker, live: dict[int, int] | None = None, ahead: int | None = None) -> list[Any]:
    found = why(Situation(scene.thread, scene.queues.get("q"), workers, live or {}, ahead), scene.now)
    assert all(is_message(r.message) and is_advice(r.remedy) for r in found)
    return found


def test_a_visible_subject_has_a_place_and_takers() -> None:
    place, takers = reasons(Scene(), worker(A), ahead=2)
    assert (place.code, place.message, place.evidence["ahead"]) == (
        "in_queue",
        "It is visible in queue q, number 3.",
        2,
    )
    assert (takers.code, takers.evidence) == ("claimable_by", {"workers": [{"worker": "WX-24", "worker_key": "w2"}]})
    assert not place.blocking
    assert not takers.blocking


def test_what_is_not_visible_has_no_place_and_no_takers() -> None:
    scene = Scene()
    scene.hold()
    assert codes(scene, worker(A), ahead=0) == ["hold_active"]


def test_a_lapsed_lease_still_has_takers() -> None:
    scene = Scene()
    scene.claim(start=False)
    scene.wait(60)
    stale = worker(A)
    awake = worker(B, heartbeat_at=scene.now)
    assert codes(scene, stale, awake) == ["lease_expired", "claimable_by"]


def test_without_any_worker_nobody_is_online() -> None:
    reason = reasons(Scene())[0]
    assert (reason.code, reason.evidence["registered"], reason.blocking) == ("no_worker_online", 0, True)


def test_a_worker_whose_heartbeat_is_stale_is_not_online() -> None:
    assert codes(Scene().wait(60), worker(A)) == ["no_worker_online"]


def test_a_draining_worker_takes_nothing() -> None:
    draining = worker(A, status=WorkerStatus.DRAINING, drain_requested=True)
    assert codes(Scene(), draining) == ["no_worker_online"]


def test_missing_capabilities_are_named() -> None:
    scene = Scene(policy={"required_worker_capabilities": ("centrifuge", "pcr")})
    reason = reasons(scene, worker(A, capabilities=("pcr",)), worker(B))[0]
    assert (reason.code, reason.blocking) == ("capability_mismatch", True)
    assert reason.evidence == {"missing": ["centrifuge", "pcr"], "required": ["centrifuge", "pcr"]}


def test_workers_at_their_limit_are_named() -> None:
    reason = reasons(Scene(), worker(A), live={A: 1})[0]
    assert (reason.code, reason.blocking) == ("workers_at_limit", True)
    assert reason.evidence == {"workers": [{"worker": "WX-24", "worker_key": "w2"}]}


def test_one_able_worker_outweighs_those_that_are_not() -> None:
    scene = Scene(policy={"required_worker_capabilities": ("pcr",)})
    able, busy, lacking = worker(A, capabilities=("pcr",)), worker(B, capabilities=("pcr",)), worker(6)
    assert codes(scene, lacking, busy, able, live={B: 1}) == ["claimable_by"]


def test_a_worker_that_names_other_queues_is_not_counted_and_the_reason_says_so() -> None:
    reason = reasons(Scene(), worker(A, queues=("other", "third")))[0]
    assert (reason.code, reason.blocking) == ("no_worker_online", True)
    assert reason.message == "No online worker serves queue q; 1 online worker(s) serve other queues."
    assert reason.evidence["elsewhere"] == [{"worker": "WX-24", "worker_key": "w2", "queues": "other, third"}]


def test_of_workers_those_that_name_the_queue_or_none_may_take_it() -> None:
    elsewhere, here, anywhere = worker(A, queues=("other",)), worker(B, queues=("other", "q")), worker(6)
    (takers,) = reasons(Scene(), elsewhere, here, anywhere)
    assert (takers.code, [w["worker_key"] for w in takers.evidence["workers"]]) == ("claimable_by", ["w4", "w6"])
    assert codes(Scene(), elsewhere, here, live={A: 0, B: 1}) == ["workers_at_limit"]


def test_a_capability_that_only_a_worker_of_other_queues_has_is_missing_here() -> None:
    scene = Scene(policy={"required_worker_capabilities": ("pcr",)})
    reason = reasons(scene, worker(A), worker(B, capabilities=("pcr",), queues=("other",)))[0]
    assert (reason.code, reason.message) == ("capability_mismatch", "No online worker of queue q has pcr.")


def test_a_subject_that_waits_for_its_time_says_when() -> None:
    assert codes(Scene(ready_at=T0 + timedelta(hours=1)), worker(A)) == ["not_yet_due"]


def test_no_more_than_twenty_takers_are_listed() -> None:
    many = [worker(uid) for uid in range(2, 62, 2)]
    reason = reasons(Scene(), *many)[0]
    assert reason.message.startswith("30 online")
    assert len(reason.evidence["workers"]) == 20
