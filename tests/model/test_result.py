"""What an action answers, worked out from its fact alone (S1 section 7.3)."""

from __future__ import annotations

from tenure.model.result import result_of
from tests.model.scene import B, Scene


def test_an_answer_has_the_public_face_of_everything() -> None:
    scene = Scene()
    fact = scene.claim(start=False)
    assert result_of(fact).as_dict() == {
        "action": "claim_queue_item",
        "subject": "SX-1008",
        "state": "READY",
        "revision": 1,
        "seq": 2,
        "at": "2026-01-05T12:00:00.000000+00:00",
        "queue_key": "q",
        "lease": "LX-102C",
        "record": "RX-103E",
        "worker": "WX-24",
        "ttl": 60,
        "started": False,
    }


def test_an_answer_without_lease_has_none() -> None:
    public = result_of(Scene().cancel(reason="enough")).as_dict()
    assert public.keys() & {"lease", "record", "worker"} == set()
    assert (public["action"], public["reason"]) == ("cancel_subject_execution", "enough")


def test_what_an_action_made_or_ended_is_named_by_its_euid() -> None:
    scene = Scene()
    scene.claim()
    held = result_of(scene.hold()).as_dict()
    assert (held["hold"], held["ended"]) == ("HX-1040", ["LX-102C"])


def test_a_reconciliation_names_its_record_and_a_dead_letter_itself() -> None:
    scene = Scene(max_attempts=1)
    scene.claim()
    assert result_of(scene.requeue()).as_dict()["record"].startswith("RX-")
    scene.claim(B)
    assert result_of(scene.fail(B)).as_dict()["dead_letter"].startswith("DX-")


def test_outputs_are_named_as_subjects() -> None:
    scene = Scene()
    scene.claim()
    assert result_of(scene.complete(outputs=(1024,))).as_dict()["outputs"] == ["SX-1008"]


def test_a_replay_is_the_same_answer_and_says_so() -> None:
    fact = Scene().cancel()
    first, again = result_of(fact), result_of(fact, replayed=True)
    assert (first, first.as_dict()) == (again, again.as_dict())
    assert (first.replayed, again.replayed) == (False, True)
