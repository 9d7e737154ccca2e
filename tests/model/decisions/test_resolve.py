"""resolve_dead_letter (S1 section 2.5, S4 section 8.4)."""

from __future__ import annotations

import pytest

from tenure.model import fact_types as ft
from tenure.model.errors import Conflict, IdempotencyConflict, InvalidRequest, SeqConflict
from tenure.model.states import Resolution, State
from tests.model.decisions.test_hold import in_state
from tests.model.scene import Scene


@pytest.mark.parametrize("resolution", [Resolution.IGNORED, Resolution.CANCELED])
def test_an_operator_closes_a_dead_letter(resolution: Resolution) -> None:
    scene = in_state("FAILED_TERMINAL")
    before = scene.envelope
    fact = scene.wait(5).resolve(resolution=resolution, reason="sample lost")
    letter = scene.thread.dead_letters[max(scene.thread.dead_letters)]
    assert (letter.resolution_state, letter.resolved_by, letter.resolved_at) == (resolution, "tester", scene.now)
    assert (fact.type, fact.data) == (
        ft.DEAD_LETTER_RESOLVED,
        {"dead_letter": letter.uid, "resolution": str(resolution), "reason": "sample lost"},
    )
    assert (scene.state, scene.envelope.revision) == (State.FAILED_TERMINAL, before.revision)
    assert scene.thread.open_dead_letter is None


@pytest.mark.parametrize("resolution", [Resolution.OPEN, Resolution.REQUEUED])
def test_running_it_again_is_another_action(resolution: Resolution) -> None:
    scene = in_state("FAILED_TERMINAL")
    with pytest.raises(InvalidRequest) as refused:
        scene.resolve(resolution=resolution)
    assert "reopen=True" in refused.value.hint


def test_a_dead_letter_is_resolved_once() -> None:
    scene = in_state("FAILED_TERMINAL")
    scene.resolve()
    with pytest.raises(Conflict, match="no open dead letter"):
        scene.resolve()


def test_what_did_not_give_up_has_nothing_to_resolve() -> None:
    with pytest.raises(Conflict, match="no open dead letter"):
        Scene().resolve()


def test_the_same_request_again_is_answered_by_the_same_fact() -> None:
    scene = in_state("FAILED_TERMINAL")
    first = scene.resolve(idempotency_key="k")
    assert scene.resolve(idempotency_key="k") is first


def test_another_resolution_under_the_same_key_is_a_conflict() -> None:
    scene = in_state("FAILED_TERMINAL")
    scene.resolve(idempotency_key="k")
    with pytest.raises(IdempotencyConflict):
        scene.resolve(idempotency_key="k", resolution="CANCELED")


def test_a_wrong_expected_seq_is_a_conflict() -> None:
    scene = in_state("FAILED_TERMINAL")
    with pytest.raises(SeqConflict):
        scene.resolve(expected_seq=1)
