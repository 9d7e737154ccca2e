"""The fold of the facts is the thread, whatever was decided (design 00, conflict 1)."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.model import fact_types as ft
from tenure.model.errors import TenureError
from tenure.model.fact import Fact
from tenure.model.states import State
from tenure.model.thread import evolve, fold
from tests.model.explorer import Standing, violations
from tests.model.scene import T0, TEMPLATE, A, B, C, Scene

classes = st.sampled_from(
    ["TRANSIENT_SYSTEM"] * 4 + ["PERMANENT_INPUT", "BUSINESS_RULE_HOLD", "OPERATOR_CANCELED"]  # in order of frequency
)
seconds = st.sampled_from([1, 10, 59, 60, 3600])
moments = seconds.map(lambda s: T0 + timedelta(seconds=s))
maybe_queue = st.sampled_from([None, None, "q", "next"])

#: What the holder of some live lease may do, and with which values.
HOLDER_ACTS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "start": st.fixed_dictionaries({"deadline": st.none() | moments}),
    "dispatch": st.fixed_dictionaries(
        {"deadline": st.none() | moments, "external_ref": st.sampled_from([None, "slurm:1"])}
    ),
    "renew": st.fixed_dictionaries({"ttl_seconds": st.none() | st.integers(1, 100)}),
    "release": st.just({}),
    "defer": st.fixed_dictionaries({"until": moments}),
    "complete": st.fixed_dictionaries({"next_queue_key": maybe_queue, "outputs": st.sampled_from([(), (70, 72)])}),
    "fail": st.fixed_dictionaries({"error_class": classes, "retry_after_seconds": st.none() | st.floats(0, 100)}),
    "expire": st.just({}),
}
#: What others may do.
OTHER_ACTS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "hold": st.just({}),
    "release_hold": st.just({}),
    "requeue": st.fixed_dictionaries(
        {"reopen": st.booleans(), "queue_key": maybe_queue, "priority": st.none() | st.integers(-3, 3)}
    ),
    "cancel": st.just({}),
    "resolve": st.just({}),
}
births = st.fixed_dictionaries(
    {
        "slots": st.sampled_from([1, 1, 2, 3]),
        "ready": st.sampled_from([True, True, True, False]),
        "max_attempts": st.sampled_from([None, 1, 2]),
        "priority": st.integers(-3, 3),
        "due_at": st.none() | moments,
        "site": st.sampled_from([None, "muc"]),
    }
)


@st.composite
def lives(draw: st.DrawFn, **birth: Any) -> Scene:
    """A subject to which much has happened; what was refused did not happen."""
    scene = Scene(**draw(births) | birth)
    for _ in range(draw(st.integers(5, 30))):
        name = draw(st.sampled_from(_possible(scene)))
        try:
            _happen(scene, name, draw)
        except TenureError:
            continue
    return scene


def _possible(scene: Scene) -> list[str]:
    """What might come next, the likelier the more often it is listed."""
    names = ["wait", "wait", *OTHER_ACTS]
    if scene.thread.live_attempts:
        names += ["start", "complete", "fail", "fail", *HOLDER_ACTS]
    if not any(r.blocking for r in scene.why()):
        names += ["claim"] * 15
    return names


def _happen(scene: Scene, name: str, draw: st.DrawFn) -> None:
    if name == "wait":
        scene.wait(draw(seconds))
    elif name == "claim":
        free = [holder for holder in (A, B, C) if not _had_a_slot(scene, holder)]
        _expire_lapsed(scene)
        if free:
            scene.claim(draw(st.sampled_from(free)), start=draw(st.sampled_from([True, True, False])))
    elif name in HOLDER_ACTS:
        holder = draw(st.sampled_from(scene.thread.live_attempts)).worker
        getattr(scene, name)(holder, **draw(HOLDER_ACTS[name]))
    else:
        getattr(scene, name)(**draw(OTHER_ACTS[name]))


def _had_a_slot(scene: Scene, holder: int) -> bool:
    ours = (a for a in scene.thread.attempts.values() if a.worker == holder)
    return scene.envelope.shared and any(a.lease_status in ("ACTIVE", "COMPLETED") for a in ours)


def _expire_lapsed(scene: Scene) -> None:
    for attempt in scene.thread.live_attempts:
        if attempt.expired(scene.now) and scene.thread.attempts[attempt.uid].live:
            assert attempt.worker is not None
            scene.expire(attempt.worker)


def test_lives_are_full_of_events() -> None:
    told = Counter[str]()

    @settings(max_examples=300, database=None, derandomize=True)
    @given(lives())
    def live(scene: Scene) -> None:
        told.update(fact.type for fact in scene.facts)

    live()
    assert set(told) == {t.type for t in ft.REGISTRY.values() if t.domain == "execution"}
    assert told.total() > 300 * 5


@given(lives())
def test_the_fold_of_the_facts_is_the_thread(scene: Scene) -> None:
    assert fold(scene.facts, TEMPLATE) == scene.thread


@given(lives(), st.data())
def test_a_fold_may_begin_anywhere(scene: Scene, data: st.DataObject) -> None:
    facts = scene.facts
    cut = data.draw(st.integers(1, len(facts)))
    thread = fold(facts[:cut], TEMPLATE)
    for fact in facts[cut:]:
        thread = evolve(thread, fact, TEMPLATE)
    assert thread == fold(facts, TEMPLATE)


@given(lives())
def test_every_prefix_was_the_envelope_at_its_time(scene: Scene) -> None:
    for seq, fact in enumerate((facts := scene.facts), 1):
        thread = fold(facts[:seq], TEMPLATE)
        assert thread is not None
        env = thread.envelope
        assert (env.seq, env.state, env.revision, env.next_queue_key, env.head) == (
            seq, fact.state, fact.revision, fact.queue_key, fact.hash,
        )  # fmt: skip


@given(lives(), st.data())
def test_a_changed_fact_breaks_the_chain(scene: Scene, data: st.DataObject) -> None:
    facts = scene.facts
    place = data.draw(st.integers(0, len(facts) - 1))
    changed = [*facts]
    changed[place] = _forged(changed[place])
    assert _first_break(facts) is None
    assert _first_break(changed) == place


def _forged(fact: Fact) -> Fact:
    from dataclasses import replace

    return replace(fact, actor=fact.actor + "!")


def _first_break(facts: list[Fact]) -> int | None:
    previous = b""
    for place, fact in enumerate(facts):
        if fact.hash != fact.content_hash(previous):
            return place
        previous = fact.hash
    return None


@given(lives(max_attempts=2))
def test_no_life_breaks_an_invariant(scene: Scene) -> None:
    assert list(violations(Standing(scene.thread, tuple(scene.facts), scene.now), whole=False)) == []


def test_no_facts_are_no_thread() -> None:
    assert fold([], TEMPLATE) is None


def test_a_thread_begins_with_its_birth() -> None:
    with pytest.raises(ValueError, match=r"begins with subject\.submitted, not lease\.claimed"):
        evolve(None, Fact(thread=1, seq=1, type=ft.CLAIMED, at=T0, tenant=1, actor="a"))


def test_facts_of_other_threads_do_not_belong() -> None:
    fact = Fact(thread=1, seq=2, type=ft.QUEUE_DEFINED, at=T0, tenant=1, actor="a", state=State.READY, revision=1)
    with pytest.raises(ValueError, match=r"queue\.defined does not belong"):
        evolve(Scene().thread, fact)


def test_a_subject_is_born_with_what_was_asked_for() -> None:
    scene = Scene(
        priority=4, due_at=T0, ready_at=T0 + timedelta(days=1), max_attempts=7, slots=3, site="s", platform="p", assay="y",
        next_action_key="extract",
    )  # fmt: skip
    env = scene.envelope
    assert (env.priority, env.due_at, env.ready_at, env.max_attempts_override) == (4, T0, T0 + timedelta(days=1), 7)
    assert (env.slots_total, env.slots_free, env.slots_done) == (3, 3, 0)
    assert (env.site, env.platform, env.assay, env.next_action_key) == ("s", "p", "y", "extract")
    assert (env.template, env.created_at, env.tenant, env.attempt_count) == (TEMPLATE, T0, 1, 0)
