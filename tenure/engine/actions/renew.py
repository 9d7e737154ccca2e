"""renew_queue_lease: hold on (S1 section 6.3). All plain renewals of a worker are one statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tenure.engine import logging
from tenure.engine.acting import ActionSpec, Outcome, act, single
from tenure.engine.caller import Caller
from tenure.engine.tracing import span
from tenure.model import fact_types as ft
from tenure.model.decisions.renew import decide_renew
from tenure.model.errors import SubjectBusy
from tenure.model.requests import RenewLease
from tenure.model.result import ActionResult
from tenure.model.transitions import Action
from tenure.store.operation import Op

SPEC: ActionSpec[RenewLease] = ActionSpec(Action.RENEW, (ft.RENEWED,), decide_renew)


@dataclass(frozen=True, slots=True)
class Renewals:
    """What became of the leases of one process: ``until`` when each that is still held now holds, by lease; and those that
    are ``busy``, of which nothing is known while somebody else's transaction has their subject locked.
    """

    until: Mapping[int, datetime]
    busy: frozenset[int] = frozenset()


def renew_many(caller: Caller, requests: Sequence[RenewLease], *, waits: bool = True) -> Op[list[Outcome]]:
    """The set form: one transaction, a result or an error for each request. ``waits``: see ``act``."""
    return act(caller, SPEC, requests, waits=waits)


def renew(caller: Caller, request: RenewLease) -> Op[ActionResult]:
    """The single form; raises what the set form returns as error."""
    return single((yield from renew_many(caller, [request])))


def renew_all(
    caller: Caller, worker: int, incarnation: int, leases: Sequence[tuple[int, bytes]], ttl_seconds: int | None = None
) -> Op[Renewals]:
    """Renew (lease, token hash) of one worker process. No lease waits for a transaction that has the subject of another.

    A lease that is not in the answer is lost: its work must not be reported as done.
    """
    done = yield from renew_plain(caller, worker, incarnation, leases, ttl_seconds)
    renewed = {lease: _expiry(result) for lease, result in done.items()}
    busy: set[int] = set()
    rest = [(lease, token) for lease, token in leases if lease not in renewed]
    if rest:
        requests = [
            RenewLease(lease=lease, worker=worker, token_hash=token, ttl_seconds=ttl_seconds) for lease, token in rest
        ]
        outcomes = yield from renew_many(caller, requests, waits=False)
        for (lease, _), outcome in zip(rest, outcomes, strict=True):
            if isinstance(outcome, ActionResult):
                renewed[lease] = _expiry(outcome)
            elif isinstance(outcome, SubjectBusy):
                busy.add(lease)
    return Renewals(renewed, frozenset(busy))


def renew_plain(
    caller: Caller, worker: int, incarnation: int, leases: Sequence[tuple[int, bytes]], ttl_seconds: int | None = None
) -> Op[dict[int, ActionResult]]:
    """Renew the plain ones in one statement; those left out are not in the answer."""
    elapsed = logging.stopwatch()
    with span("tenure.renew_queue_lease", {"tenure.batch": len(leases)}):
        done = yield from caller.store.renew_plain(
            caller.tenant, worker, incarnation, caller.actor, leases, ttl_seconds
        )
        if logging.wanted():
            ms, results = elapsed(), list(done.values())
            correlation_ids = yield from logging.correlations(caller, [result.subject for result in results])
            logging.log_many(caller, Action.RENEW, results, ms, None, correlation_ids)
    return done


def _expiry(result: ActionResult) -> datetime:
    return datetime.fromisoformat(result.data["expires_at"])
