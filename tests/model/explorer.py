"""Exhaustive exploration of the pure model: every interleaving of two workers, an operator and the clock.

What may happen to a subject is worked out once for each of its canonical states (uids dropped, times made relative to
now), by running the decisions on a real thread that stands there. Worlds of one or two subjects are then walked breadth
first over these steps. Since canonical states are finite, a walk without depth ends by itself: then every reachable state
was seen. Each state is held against the invariants; what breaks one is reported with the shortest path to it.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from tenure.model.attempt import Attempt
from tenure.model.decisions.cancel import decide_cancel
from tenure.model.decisions.claim import decide_claim
from tenure.model.decisions.complete import decide_complete
from tenure.model.decisions.dispatch import decide_dispatch
from tenure.model.decisions.expire import decide_expire
from tenure.model.decisions.fail import decide_fail
from tenure.model.decisions.hold import decide_hold, decide_release_hold
from tenure.model.decisions.release import decide_defer, decide_release
from tenure.model.decisions.renew import decide_renew
from tenure.model.decisions.requeue import decide_requeue
from tenure.model.decisions.resolve import decide_resolve
from tenure.model.decisions.start import decide_start
from tenure.model.decisions.unfolding import Context, Unfolding
from tenure.model.errors import TenureError
from tenure.model.fact import Fact
from tenure.model.fact_types import DEFERRED, REGISTRY
from tenure.model.requests import (
    CancelSubject,
    ClaimItems,
    CompleteExecution,
    DeferExecution,
    DispatchExternal,
    FailExecution,
    PlaceHold,
    ReleaseHold,
    ReleaseLease,
    RenewLease,
    RequeueSubject,
    ResolveDeadLetter,
    StartExecution,
)
from tenure.model.states import ErrorClass, HoldState, LeaseStatus, RecordStatus, Resolution, State
from tenure.model.thread import FOREVER, SubjectThread, fold
from tenure.model.transitions import TABLE, Action
from tenure.model.visibility import is_visible, obstacles
from tests.model.scene import SUBJECT, T0, TEMPLATE, A, B, Scene, queue, token_of, worker
from tests.model.sentences import is_advice, is_message

STEP = timedelta(seconds=60)
POLICY: dict[str, Any] = {
    "lease_ttl_seconds": 120,
    "max_attempts_default": 2,
    "retry_policy": {"mode": "CONSTANT", "initial_delay_seconds": 60},
}
QUEUES = {"q": queue("q", **POLICY), "next": queue("next", **POLICY)}
WORKERS = {uid: worker(uid, heartbeat_ttl_seconds=86400) for uid in (A, B)}
#: An operator places no more than so many holds at a time, so that states are finite.
MAX_HOLDS = 2

Key = tuple[Any, ...]
World = tuple[Key, ...]
Row = tuple[Action, State, State]


class BrokenInvariant(AssertionError):
    """A state that must not be, and how it was reached."""

    def __init__(self, what: str, path: list[str]) -> None:
        super().__init__(f"{what}\n  reached by: {' > '.join(path) or '(the beginning)'}")
        self.what = what
        self.path = path


@dataclass(frozen=True, slots=True)
class Standing:
    """A real thread that stands for all with its key, at its own time."""

    thread: SubjectThread
    facts: tuple[Fact, ...]
    now: datetime


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that may happen: who does what, and the key of where it leads. ``claimer`` needs room for a lease."""

    label: str
    after: Key
    claimer: int | None = None


@dataclass(slots=True)
class Explorer:
    """Walks worlds of ``subjects`` subjects with ``slots`` slots each, up to ``depth`` steps or to the end.

    ``rows`` are the rows of the transition table that were used. ``deep`` walks in another order, so that other threads
    stand for the same keys.
    """

    slots: int = 1
    subjects: int = 1
    depth: int | None = None
    ready: bool = True
    deep: bool = False
    rows: set[Row] = field(default_factory=set)
    standings: dict[Key, Standing] = field(default_factory=dict)
    steps: dict[Key, list[Step]] = field(default_factory=dict)
    later: dict[Key, Key] = field(default_factory=dict)
    worlds: int = 0
    edges: int = 0
    refused: int = 0
    _uids: Iterator[int] = field(default_factory=lambda: itertools.count(2048, 2))

    def run(self) -> Explorer:
        """Walk; raises ``BrokenInvariant`` for the first state that breaks one."""
        scene = Scene(slots=self.slots, ready=self.ready)
        first = self._stand(Standing(scene.thread, tuple(scene.facts), T0), [])
        start: World = (first,) * self.subjects
        came_from: dict[World, tuple[World, str] | None] = {start: None}
        frontier = deque([(start, 0)])
        while frontier:
            world, depth = frontier.pop() if self.deep else frontier.popleft()
            if self.depth is not None and depth >= self.depth:
                continue
            for label, after in self._moves(world, came_from):
                self.edges += 1
                if after not in came_from:
                    came_from[after] = (world, label)
                    frontier.append((after, depth + 1))
        self.worlds = len(came_from)
        return self

    def __str__(self) -> str:
        """What was seen, in one line."""
        how_far = "to the end" if self.depth is None else f"{self.depth} steps deep"
        return (
            f"{self.subjects} subject(s) with {self.slots} slot(s), {how_far}: {self.worlds:,} states, "
            f"{self.edges:,} steps; {len(self.standings):,} states of one subject, {self.refused:,} refusals"
        )

    def _moves(self, world: World, came_from: dict[World, tuple[World, str] | None]) -> Iterator[tuple[str, World]]:
        def path() -> list[str]:
            labels, at = [], world
            while (step := came_from[at]) is not None:
                at, label = step
                labels.append(label)
            return labels[::-1]

        for place, key in enumerate(world):
            name = f"{place + 1}: " if self.subjects > 1 else ""
            for step in self._steps(key, path):
                if step.claimer is not None and any(_holds(other, step.claimer) for other in world):
                    continue
                yield name + step.label, (*world[:place], step.after, *world[place + 1 :])
        yield "time passes", tuple(self._later(key, path) for key in world)

    # One subject ----------------------------------------------------------------------------------------------------
    def _stand(self, standing: Standing, path: list[str]) -> Key:
        key = key_of(standing)
        new = key not in self.standings
        for what in violations(standing, whole=new):
            raise BrokenInvariant(what, path)
        if new:
            self.standings[key] = standing
        return key

    def _later(self, key: Key, path: Callable[[], list[str]]) -> Key:
        if key not in self.later:
            standing = self.standings[key]
            moved = replace(standing, now=standing.now + STEP)
            self.later[key] = self._stand(moved, [*path(), "time passes"])
        return self.later[key]

    def _steps(self, key: Key, path: Callable[[], list[str]]) -> list[Step]:
        if key not in self.steps:
            self.steps[key] = list(self._try_all(self.standings[key], path()))
        return self.steps[key]

    def _try_all(self, standing: Standing, path: list[str]) -> Iterator[Step]:
        for label, act, lawful, claimer in moves(standing):
            unfolding = Unfolding.of(standing.thread)
            context = Context(standing.now, label, self._uids, QUEUES, WORKERS)
            try:
                act(unfolding, context)
            except TenureError:
                if unfolding.facts:
                    raise BrokenInvariant(f"{label} was refused and changed something", path) from None
                self.refused += 1
                continue
            if not lawful:
                raise BrokenInvariant(f"{label} was let through without a live lease", path)
            for row, what in changes(standing.thread, unfolding.facts):
                self.rows.add(row)
                if what:
                    raise BrokenInvariant(what, [*path, label])
            after = Standing(unfolding.thread, (*standing.facts, *unfolding.facts), standing.now)
            yield Step(label, self._stand(after, [*path, label]), claimer)


Move = tuple[str, Callable[[Unfolding, Context], object], bool, int | None]


def moves(standing: Standing) -> Iterator[Move]:
    """All that anyone might try: label, the decision, whether it may succeed, who needs room for a lease."""
    thread, now = standing.thread, standing.now
    env = thread.envelope
    queue_ = QUEUES.get(env.next_queue_key or "")
    if queue_ is not None and is_visible(thread, queue_, now):
        for holder in WORKERS:
            if not (env.shared and _had_a_slot(thread, holder)):
                yield f"{_NAME[holder]} claims", _claim(holder, env.next_queue_key, start=False), True, holder
                yield f"{_NAME[holder]} claims and starts", _claim(holder, env.next_queue_key, start=True), True, holder
    for attempt in thread.attempts.values():
        if attempt.lease_status is not None and attempt.worker is not None:
            yield from _of_holder(attempt, now)
    for attempt in thread.live_attempts:
        lapsed = "the sweeper expires" if attempt.expired(now) else "an admin forces out"
        yield (f"{lapsed} {_NAME[attempt.worker or 0]}", _expire(attempt.uid, "" if attempt.expired(now) else "FORCED"),
               True, None)  # fmt: skip
    yield from _of_operator(thread)


def _of_holder(attempt: Attempt, now: datetime) -> Iterator[Move]:
    """What the holder of a lease, live or long gone, might try with it."""
    lawful = attempt.live and not attempt.expired(now)
    who = _NAME[attempt.worker or 0]
    proof = {"lease": attempt.uid, "worker": attempt.worker, "token_hash": token_of(attempt.worker or 0)}
    tries: list[tuple[str, Any, Any]] = [
        ("starts", decide_start, StartExecution.model_construct(**proof)),
        ("dispatches", decide_dispatch, DispatchExternal.model_construct(**proof)),
        ("dispatches for a minute", decide_dispatch, DispatchExternal.model_construct(**proof, deadline=now + STEP)),
        ("renews", decide_renew, RenewLease.model_construct(**proof)),
        ("releases", decide_release, ReleaseLease.model_construct(**proof)),
        ("defers", decide_defer, DeferExecution.model_construct(**proof, until=now + STEP)),
        ("completes", decide_complete, CompleteExecution.model_construct(**proof)),
        ("sends on", decide_complete, CompleteExecution.model_construct(**proof, next_queue_key="next")),
        *(
            (f"fails with {name}", decide_fail, FailExecution.model_construct(**proof, error_class=name))
            for name in _CLASSES
        ),
    ]
    for label, decide, request in tries:
        yield f"{who} {label}", _by_holder(decide, request), lawful, None


def _of_operator(thread: SubjectThread) -> Iterator[Move]:
    def by(decide: Any, request: Any) -> Callable[[Unfolding, Context], object]:
        return lambda unfolding, context: decide(unfolding, request, context)

    if len(thread.active_holds) < MAX_HOLDS:
        yield "the operator holds", by(decide_hold, PlaceHold(subject=SUBJECT, reason="stop")), True, None
    for number, hold in enumerate(thread.active_holds, 1):
        request = ReleaseHold(subject=SUBJECT, hold=hold.uid)
        yield f"the operator releases hold {number}", by(decide_release_hold, request), True, None
    yield "the operator cancels", by(decide_cancel, CancelSubject(subject=SUBJECT)), True, None
    yield "the operator requeues", by(decide_requeue, RequeueSubject(subject=SUBJECT)), True, None
    yield "the operator reopens", by(decide_requeue, RequeueSubject(subject=SUBJECT, reopen=True)), True, None
    yield "the operator resolves", by(decide_resolve, ResolveDeadLetter(subject=SUBJECT, reason="lost")), True, None


_NAME = {A: "A", B: "B", 0: "nobody"}
_CLASSES = (
    ErrorClass.TRANSIENT_SYSTEM,
    ErrorClass.PERMANENT_INPUT,
    ErrorClass.BUSINESS_RULE_HOLD,
    ErrorClass.OPERATOR_CANCELED,
)


def _claim(holder: int, key: str | None, *, start: bool) -> Callable[[Unfolding, Context], object]:
    request = ClaimItems.model_construct(worker=holder, queue_key=key, token_hash=token_of(holder), start=start)

    def act(unfolding: Unfolding, context: Context) -> object:
        sweep(unfolding, context)
        return decide_claim(unfolding, request, context)

    return act


def sweep(unfolding: Unfolding, context: Context) -> None:
    """Expire what has lapsed before anything is claimed, as the engine does."""
    for attempt in unfolding.thread.live_attempts:
        if attempt.expired(context.now) and unfolding.thread.attempts[attempt.uid].live:
            decide_expire(unfolding, attempt, context)


def _expire(lease: int, reason: str) -> Callable[[Unfolding, Context], object]:
    return lambda unfolding, context: decide_expire(
        unfolding, unfolding.thread.attempts[lease], context, reason or None
    )


def _by_holder(decide: Any, request: Any) -> Callable[[Unfolding, Context], object]:
    return lambda unfolding, context: decide(unfolding, request, context, request.token_hash)


def _had_a_slot(thread: SubjectThread, holder: int) -> bool:
    ours = (a for a in thread.attempts.values() if a.worker == holder)
    return any(a.lease_status in (LeaseStatus.ACTIVE, LeaseStatus.COMPLETED) for a in ours)


# Canonical states -----------------------------------------------------------------------------------------------------
def key_of(standing: Standing) -> Key:
    """All of a thread that can make a difference later: no uids, no counters that only grow, times relative to now."""
    thread, now = standing.thread, standing.now
    env = thread.envelope
    done = (
        sorted((a.slot, a.worker) for a in thread.attempts.values() if a.lease_status is LeaseStatus.COMPLETED)
        if env.shared
        else ()
    )
    return (
        env.state,
        env.next_queue_key,
        # A hold by a business rule may come after the last attempt, and then again and again.
        min(env.attempt_count, POLICY["max_attempts_default"]),
        _ahead(env.retry_at, now),
        _ahead(env.ready_at, now) if env.retry_at is None else None,
        env.hold_state,
        env.cancel_requested,
        env.slots_free,
        env.slots_done,
        tuple((a.slot, a.worker, a.started_at is None, _ahead(a.expires_at, now)) for a in thread.live_attempts),
        tuple(done),
        len(thread.active_holds),
        thread.open_dead_letter is not None,
    )


def _ahead(time: datetime | None, now: datetime) -> float | None:
    """Seconds until then, 0 for whatever has passed."""
    if time is None or time == FOREVER:
        return None if time is None else -1
    return max((time - now).total_seconds(), 0)


def _holds(key: Key, holder: int) -> bool:
    return any(lease[1] == holder for lease in key[9])


# Invariants -----------------------------------------------------------------------------------------------------------
def violations(standing: Standing, *, whole: bool = True) -> Iterator[str]:
    """Everything about one state that must not be; what costs time only where it is looked at as a ``whole``."""
    yield from _broken_slots(standing)
    yield from _broken_records(standing.thread)
    yield from _broken_holds(standing.thread)
    yield from _broken_ends(standing.thread)
    if whole:
        yield from _broken_journal(standing)
        yield from _broken_visibility(standing)


def _broken_slots(standing: Standing) -> Iterator[str]:
    thread, env = standing.thread, standing.thread.envelope
    live = thread.live_attempts
    if len([a for a in live if not a.expired(standing.now)]) > env.slots_total:
        yield "more live leases than slots"
    if len({a.slot for a in live}) < len(live) or any(not 1 <= a.slot <= env.slots_total for a in live):
        yield "two live leases on one slot, or a slot that is none"
    if env.slots_free + env.slots_done + len(live) != env.slots_total:
        yield f"slots do not add up: {env.slots_free} free, {env.slots_done} done, {len(live)} held of {env.slots_total}"
    if env.state is State.RUNNING and env.slots_free:
        yield "it runs although a slot is free, which nobody can take"
    if env.state is State.RUNNING and not env.slots_done and not any(a.started_at for a in live):
        yield "it runs although nobody has started"
    if env.state is State.RUNNING and not env.shared and len(live) != 1:
        yield "it runs without a lease"
    counted = [
        a.worker for a in thread.attempts.values() if a.lease_status in (LeaseStatus.ACTIVE, LeaseStatus.COMPLETED)
    ]
    if env.shared and len(set(counted)) < len(counted):
        yield "one worker had two slots"


def _broken_records(thread: SubjectThread) -> Iterator[str]:
    for attempt in thread.attempts.values():
        if (attempt.record_status is RecordStatus.STARTED) != (attempt.lease_status is LeaseStatus.ACTIVE):
            yield f"record {attempt.record_status} of a lease that is {attempt.lease_status}"
        if (attempt.ended_at is None) != (attempt.record_status is RecordStatus.STARTED):
            yield "a record that ended without a time, or has a time without an end"


def _broken_holds(thread: SubjectThread) -> Iterator[str]:
    env = thread.envelope
    if len({env.state is State.HELD, env.hold_state is HoldState.ACTIVE, bool(thread.active_holds)}) > 1:
        yield f"{env.state}, hold state {env.hold_state}, {len(thread.active_holds)} active holds"
    if env.state is State.HELD and thread.live_attempts:
        yield "a held subject has a live lease"


def _broken_ends(thread: SubjectThread) -> Iterator[str]:
    env, most = thread.envelope, POLICY["max_attempts_default"]
    if env.terminal and thread.live_attempts:
        yield "a terminal subject has a live lease"
    letters = sorted(thread.dead_letters.values(), key=lambda d: d.uid)
    still_open = [d for d in letters if d.resolution_state is Resolution.OPEN]
    if still_open and (env.state is not State.FAILED_TERMINAL or len(still_open) > 1):
        yield "an open dead letter of a subject that did not give up, or several"
    gave_up = bool(letters) and letters[-1].resolution_state is not Resolution.REQUEUED
    if env.state is State.FAILED_TERMINAL and not gave_up:
        yield "a subject gave up without a dead letter"
    if env.attempt_count >= most and (env.attempt_count > most or env.state is State.FAILED_RETRYABLE):
        yield f"{env.state} although {env.attempt_count} of {most} attempts were spent"
    if env.cancel_requested != (env.state is State.CANCELED):
        yield "a cancellation that was requested and not done, or done and not requested"


def _broken_journal(standing: Standing) -> Iterator[str]:
    if fold(standing.facts, TEMPLATE) != standing.thread:
        yield "the fold of the facts is another thread"
    previous = b""
    for seq, fact in enumerate(standing.facts, 1):
        if fact.seq != seq or fact.hash != fact.content_hash(previous):
            yield f"fact {seq} does not follow its predecessor"
        previous = fact.hash
    if standing.thread.envelope.head != previous or standing.thread.envelope.seq != len(standing.facts):
        yield "the envelope does not know the last fact"


def _broken_visibility(standing: Standing) -> Iterator[str]:
    """What is read before a sweep is S1's rule, by the letter, after it; and nothing is stuck without a reason."""
    thread, now = standing.thread, standing.now
    queue_ = QUEUES.get(thread.envelope.next_queue_key or "")
    unfolding = Unfolding.of(thread)
    sweep(unfolding, Context(now, "sweeper", itertools.count(1 << 40, 2), QUEUES, WORKERS))
    lawful = s1_rule(unfolding.thread, now)
    if is_visible(thread, queue_, now) != lawful:
        yield f"visibility before the sweep differs from S1's rule after it ({lawful})"
    reasons = obstacles(thread, queue_, now)
    if not lawful and not any(r.blocking for r in reasons):
        yield "not visible for no reason"
    if any(not (is_message(r.message) and is_advice(r.remedy)) for r in reasons):
        yield f"a reason without a sentence, or without a remedy: {reasons}"
    waits_for = {"retry_window", "not_yet_due", "hold_active", "terminal_state", "active_lease", "attempts_exhausted"}
    someone = {State.WAITING_EXTERNAL, State.PENDING}
    if not lawful and thread.envelope.state not in someone and not waits_for & {r.code for r in reasons}:
        yield f"stuck: it waits for nobody and nothing ({[r.code for r in reasons]})"


def s1_rule(thread: SubjectThread, now: datetime) -> bool:
    """S1 section 3.1, line by line; a subject with slots is leased when none is free (design 01, Slots)."""
    env = thread.envelope
    queue_ = QUEUES.get(env.next_queue_key or "")
    return (
        queue_ is not None
        and env.state in queue_.eligible_states
        and env.state not in (State.COMPLETED, State.CANCELED, State.FAILED_TERMINAL)
        and not env.cancel_requested
        and env.hold_state is not HoldState.ACTIVE
        and (env.retry_at or env.ready_at or env.created_at) <= now
        and env.template in queue_.subject_template_codes
        and env.slots_free > 0
        and not thread.active_holds
    )


def changes(before: SubjectThread, facts: list[Fact]) -> Iterator[tuple[Row, str]]:
    """Each change of state, and what is unlawful about it: no row of the table, or a revision that does not tell."""
    state, revision = before.envelope.state, before.envelope.revision
    for fact in facts:
        assert fact.state is not None
        assert fact.revision is not None
        action = Action.RELEASE if fact.type == DEFERRED else Action(REGISTRY[fact.type].action)
        row, what = (action, state, fact.state), ""
        if fact.state not in TABLE[action].get(state, ()):
            what = f"{action} took it from {state} to {fact.state}, which the table does not have"
        elif not revision + (fact.state != state) <= fact.revision <= revision + 1:
            what = f"{action} took it from {state} at {revision} to {fact.state} at {fact.revision}"
        yield row, what
        state, revision = fact.state, fact.revision
