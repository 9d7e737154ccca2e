"""expire_queue_lease: mark what lapsed (S1 section 6.5). For observability only: no claim depends on it having run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tenure.engine import logging
from tenure.engine.acting import Outcome, context_of, refusal_of
from tenure.engine.caller import Caller, apply_and_follow, blocked
from tenure.engine.tracing import span
from tenure.model import fact_types as ft
from tenure.model.attempt import attempt_of
from tenure.model.decisions.expire import decide_expire
from tenure.model.decisions.unfolding import Unfolding, check_guards, replayed
from tenure.model.errors import Conflict, NotFound, StaleLease, TenureError
from tenure.model.requests import ExpireLease
from tenure.model.result import ActionResult, result_of
from tenure.model.states import LeaseStatus
from tenure.model.transitions import Action
from tenure.store.operation import Op
from tenure.store.records import Loaded, Target


def expire(caller: Caller, request: ExpireLease) -> Op[ActionResult]:
    """Expire one lease; a second time it is a no-op that gives the first answer. ``force`` ends a live one (admin)."""
    elapsed = logging.stopwatch()
    with span("tenure.expire_queue_lease"):
        outcome, correlation_ids = yield from caller.store.transaction(_expire_one(caller, request))
        if logging.wanted():
            logging.log_many(caller, Action.EXPIRE, [outcome], elapsed(), [request], correlation_ids)
        if isinstance(outcome, TenureError):
            raise outcome
    return outcome


def sweep(caller: Caller, queue_key: str | None = None, limit: int = 500) -> Op[list[ActionResult]]:
    """Expire lapsed leases of one queue or all, oldest first, skipping what others hold locked.

    What somebody's transaction keeps from being followed, a locked run for one, is skipped too: it stays lapsed, and the
    next sweep finds it. Claims sweep, and claims never wait.
    """
    leases = yield from caller.store.lapsed(caller.tenant, queue_key, limit)
    if not leases:
        return []
    elapsed = logging.stopwatch()
    with span("tenure.expire_queue_lease", {"tenure.batch": len(leases)}):
        results, correlation_ids = yield from caller.store.transaction(_sweep(caller, leases))
        if logging.wanted():
            logging.log_many(caller, Action.EXPIRE, results, elapsed(), None, correlation_ids)
    return results


def _sweep(caller: Caller, leases: Sequence[int]) -> Op[tuple[list[ActionResult], Mapping[int, str]]]:
    targets = [Target((ft.EXPIRED,), lease=lease) for lease in leases]
    loaded = yield from caller.store.load(caller.tenant, targets, skip_locked=True)
    context = context_of(caller, loaded)
    unfoldings: dict[int, Unfolding] = {}
    results = []
    for lease in leases:
        thread = loaded.threads.get(loaded.subject_of_lease.get(lease, 0))
        if thread is None:
            continue
        unfolding = unfoldings.setdefault(thread.envelope.uid, Unfolding.of(thread))
        attempt = unfolding.thread.attempts.get(lease)
        if attempt is not None and attempt.expired(context.now):
            results.append(result_of(decide_expire(unfolding, attempt, context)))
    skipped = yield from blocked(caller, list(unfoldings.values()))
    yield from apply_and_follow(caller.without_waiting(), [u for uid, u in unfoldings.items() if uid not in skipped])
    results = [result for result in results if result.subject not in skipped]
    return results, (yield from logging.correlations(caller, [result.subject for result in results]))


def _expire_one(caller: Caller, request: ExpireLease) -> Op[tuple[Outcome, Mapping[int, str]]]:
    target = Target((ft.EXPIRED,), lease=request.lease, idempotency_key=request.idempotency_key)
    loaded = yield from caller.store.load(caller.tenant, [target])
    outcome = yield from _decide_one(caller, request, loaded)
    subject = loaded.subject_of_lease.get(attempt_of(request.lease))
    if (refused := refusal_of(caller, Action.EXPIRE, request, outcome, subject)) is not None:
        yield from caller.store.refuse(caller.tenant, [refused])
    return outcome, (yield from logging.correlations(caller, [subject]))


def _decide_one(caller: Caller, request: ExpireLease, loaded: Loaded) -> Op[Outcome]:
    lease = attempt_of(request.lease)
    thread = loaded.threads.get(loaded.subject_of_lease.get(lease, 0))
    if thread is None:
        return NotFound("There is no such lease.", "Check its EUID.")
    unfolding = Unfolding.of(thread, loaded.replays.get(0))
    try:
        if (told := replayed(unfolding, request)) is not None:
            return result_of(told, replayed=True)
        check_guards(thread.envelope, request)
    except TenureError as error:
        return error
    attempt = thread.attempts[lease]
    if attempt.lease_status is not LeaseStatus.ACTIVE:
        return StaleLease(f"The lease has ended already: {attempt.lease_status}.", "Nothing is left to expire.")
    context = context_of(caller, loaded)
    if not request.force and not attempt.expired(context.now):
        return Conflict(
            "The lease has not run out.", "Wait until it does, or let an admin force it.",
            expires_at=attempt.expires_at.isoformat() if attempt.expires_at else None,
        )  # fmt: skip
    forced = request.reason or ("FORCED" if not attempt.expired(context.now) else None)
    fact = decide_expire(unfolding, attempt, context, forced, request)
    yield from apply_and_follow(caller, [unfolding])
    return result_of(fact)
