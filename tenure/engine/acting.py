"""The shape that every action on subjects has: lock and load, decide each, apply all, answer each.

One transaction for the set; each request gets its own result or error, and an error of one changes nothing for it and
leaves the others alone (design 01, The actions).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tenure.engine import logging
from tenure.engine.caller import Caller, apply_and_follow, blocked
from tenure.engine.tracing import span
from tenure.model import euid
from tenure.model import fact_types as ft
from tenure.model.attempt import attempt_of
from tenure.model.decisions.unfolding import Context, Unfolding
from tenure.model.errors import Conflict, Forbidden, NotFound, SubjectBusy, TenureError
from tenure.model.fact import Fact
from tenure.model.requests import Request
from tenure.model.result import ActionResult, result_of
from tenure.store.operation import Op
from tenure.store.records import Loaded, Refused, Target
from tenure.store.tracing import trace_reference

R = TypeVar("R", bound=Request)
Outcome = ActionResult | TenureError


@dataclass(frozen=True, slots=True)
class ActionSpec(Generic[R]):
    """One action: its key, the fact types that answer it, its decision, and the queues that it may name."""

    action: str
    types: tuple[str, ...]
    decide: Callable[[Unfolding, R, Context, bytes | None], Fact]
    queue_keys: Callable[[R], Iterable[str | None]] = lambda _: ()
    ends_lease: bool = False
    """Whether it ends the lease, which then is the key where the caller gives none (design 01, The actions)."""


def act(caller: Caller, spec: ActionSpec[R], requests: Sequence[R], *, waits: bool = True) -> Op[list[Outcome]]:
    """Perform the action for every request; outcomes in the same order.

    Where it does not wait, ``SubjectBusy`` answers for a subject that another transaction has locked, or of which it has
    locked what would follow.
    """
    elapsed = logging.stopwatch()
    with span(f"tenure.{spec.action}", {"tenure.batch": len(requests)}):
        done = yield from caller.store.transaction(_act(caller, spec, requests, waits))
        if logging.wanted():
            pairs = zip(requests, done.subjects, strict=True)
            known = [{"subject": subject, "idempotency_key": _key_of(spec, request)} for request, subject in pairs]
            logging.log_many(caller, spec.action, done.outcomes, elapsed(), requests, done.correlation_ids, known)
    return done.outcomes


@dataclass(frozen=True, slots=True)
class _Done:
    outcomes: list[Outcome]
    subjects: Sequence[int | None]
    correlation_ids: Mapping[int, str]


def single(outcomes: Sequence[Outcome]) -> ActionResult:
    """The result of a set of one; its error is raised."""
    outcome = outcomes[0]
    if isinstance(outcome, TenureError):
        raise outcome
    return outcome


def _act(caller: Caller, spec: ActionSpec[R], requests: Sequence[R], waits: bool) -> Op[_Done]:
    targets = [target_of(spec.types, request) for request in requests]
    keys = {key for request in requests for key in spec.queue_keys(request) if key}
    loaded = yield from caller.store.load(caller.tenant, targets, keys, skip_locked=not waits)
    context = context_of(caller, loaded)
    unfoldings: dict[int, Unfolding] = {}
    outcomes: list[Outcome] = []
    subjects = [_subject_of(target, loaded) for target in targets]
    for index, (request, target, subject) in enumerate(zip(requests, targets, subjects, strict=True)):
        busy = not waits and subject is not None and subject not in loaded.threads
        outcomes.append(
            _busy() if busy else _decide(spec, request, target, subject, index, loaded, context, unfoldings)
        )
    if not waits:
        caller = caller.without_waiting()
        stuck = yield from blocked(caller, list(unfoldings.values()))
        unfoldings = {uid: unfolding for uid, unfolding in unfoldings.items() if uid not in stuck}
        outcomes = [_busy() if uid in stuck else outcome for uid, outcome in zip(subjects, outcomes, strict=True)]
    yield from apply_and_follow(caller, list(unfoldings.values()))
    refusals = [
        refused for request, subject, outcome in zip(requests, subjects, outcomes, strict=True)
        if (refused := refusal_of(caller, spec.action, request, outcome, subject)) is not None
    ]  # fmt: skip
    yield from caller.store.refuse(caller.tenant, refusals)
    return _Done(outcomes, subjects, (yield from logging.correlations(caller, subjects)))


def _decide(
    spec: ActionSpec[R], request: R, target: Target, subject: int | None, index: int, loaded: Loaded, context: Context,
    unfoldings: dict[int, Unfolding],
) -> Outcome:  # fmt: skip
    thread = loaded.threads.get(subject) if subject is not None else None
    if subject is None or thread is None:
        what = "subject" if target.lease is None else "lease"
        return NotFound(f"There is no such {what}.", "Check its EUID; what belongs to another tenant cannot be seen.")
    unfolding = unfoldings.setdefault(subject, Unfolding.of(thread))
    unfolding.replay = loaded.replays.get(index) or _told_before(unfolding, target)
    token = loaded.token_hashes.get(attempt_of(target.lease)) if target.lease is not None else None
    if target.idempotency_key is None and not spec.ends_lease and not _stands(unfolding):
        unfolding.replay = None
    try:
        fact = spec.decide(unfolding, request, context, token)
    except TenureError as error:
        return error
    return result_of(fact, replayed=fact is unfolding.replay)


def _busy() -> SubjectBusy:
    return SubjectBusy("Another transaction holds the subject.", "Ask again in a moment.")


def _subject_of(target: Target, loaded: Loaded) -> int | None:
    return target.subject if target.subject is not None else loaded.subject_of_lease.get(attempt_of(target.lease or 0))


def _stands(unfolding: Unfolding) -> bool:
    """Whether what was answered before without a key still holds: begun and not gone on since. Renewals never do."""
    fact = unfolding.replay
    return fact is not None and fact.type != ft.RENEWED and fact.state == unfolding.envelope.state


def _told_before(unfolding: Unfolding, target: Target) -> Fact | None:
    """The fact that an earlier request of the same set appended under the same key."""
    for fact in unfolding.facts:
        if fact.type not in target.types or fact.idempotency_key != target.idempotency_key:
            continue
        if target.idempotency_key is not None or (target.lease is not None and fact.lease == attempt_of(target.lease)):
            return fact
    return None


def context_of(caller: Caller, loaded: Loaded) -> Context:
    """What decisions on loaded threads look at."""
    return Context(
        now=loaded.now, actor=caller.actor, uids=loaded.uids, queues=loaded.queues, workers=loaded.workers,
        trace_id=trace_reference(),
    )  # fmt: skip


def target_of(types: tuple[str, ...], request: Request) -> Target:
    """What a request aims at."""
    return Target(
        types=types, subject=getattr(request, "subject", None), lease=getattr(request, "lease", None),
        idempotency_key=request.idempotency_key,
    )  # fmt: skip


def refusal_of(
    caller: Caller, action: str, request: Request, outcome: Outcome, subject: int | None = None
) -> Refused | None:
    """What to keep of a request that changed nothing: conflicts, refusals and replays."""
    fields = _fields(request)
    if subject is not None:
        fields["subject"] = subject
    if isinstance(outcome, ActionResult):
        if not outcome.replayed:
            return None
        return Refused(
            "idempotent_replay", action, caller.actor, "Answered from before.", subject=outcome.subject,
            lease=outcome.lease, worker=outcome.worker, queue_key=outcome.queue_key,
        )  # fmt: skip
    if not isinstance(outcome, Conflict | Forbidden):
        return None
    return Refused(outcome.code, action, caller.actor, outcome.message, **fields)


def _key_of(spec: ActionSpec[R], request: Request) -> str | None:
    """The key that makes it idempotent: the one given, or the lease that it ends."""
    if request.idempotency_key is not None or not spec.ends_lease:
        return request.idempotency_key
    lease = getattr(request, "lease", None)
    return euid.format_euid(euid.LEASE, attempt_of(lease)) if lease is not None else None


def _fields(request: Request) -> dict[str, Any]:
    names = ("subject", "lease", "worker", "queue_key")
    fields = {name: getattr(request, name, None) for name in names}
    if fields["lease"] is not None:
        fields["lease"] = attempt_of(fields["lease"])
    return fields
