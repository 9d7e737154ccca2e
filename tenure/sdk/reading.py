"""What a client can read, written once as operations (S1 sections 9 and 10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from tenure.engine import reading
from tenure.engine.caller import Caller
from tenure.engine.verify import Report
from tenure.engine.verify import verify as verify_store
from tenure.flow.engine.flow import Flow
from tenure.flow.engine.verifying import verify_runs
from tenure.model.envelope import Envelope
from tenure.model.errors import InvalidRequest
from tenure.model.fact import Fact
from tenure.model.ordering import OrderKey
from tenure.model.queue import Queue
from tenure.model.states import LeaseStatus, State
from tenure.model.visibility import Reason
from tenure.model.worker import Worker
from tenure.remote.engine.remote import Remote
from tenure.remote.engine.verifying import verify_submissions
from tenure.sdk.references import SubjectRef, WorkerRef, subject_uid, worker_uid
from tenure.store.operation import Op
from tenure.store.records import (
    DeadLetterRow,
    Edge,
    History,
    HoldRow,
    Item,
    ItemFilter,
    ItemPage,
    LeaseRow,
    SubjectFilter,
    SubjectPage,
    WorkerLoad,
)


def why(caller: Caller, /, subject: SubjectRef) -> Op[list[Reason]]:
    """Exact reasons for which a subject is not moving, or who could take it."""
    return reading.why(caller, subject_uid(subject))


def inspect(caller: Caller, /, subject: SubjectRef) -> Op[reading.Standing]:
    """The subject as it stands, with the reasons."""
    return reading.standing(caller, subject_uid(subject))


def history(caller: Caller, /, subject: SubjectRef) -> Op[History]:
    """Everything that happened to a subject, in order."""
    return reading.history(caller, subject_uid(subject))


def as_of(
    caller: Caller, /, subject: SubjectRef, *, seq: int | None = None, at: datetime | None = None
) -> Op[Envelope]:
    """The envelope as it was after fact ``seq``, or at a time."""
    return (yield from reading.as_of(caller, subject_uid(subject), seq=seq, at=at)).envelope


def find_subject(caller: Caller, /, external_ref: str) -> Op[int | None]:
    """The uid of the subject that carries this external_ref."""
    return caller.store.find_subject(caller.tenant, external_ref)


def facts(caller: Caller, /, thread: SubjectRef, *, after_seq: int = 0, limit: int = 1000) -> Op[list[Fact]]:
    """The facts of a thread of the tenant's, in order."""
    found = yield from caller.store.facts(subject_uid(thread), after_seq, limit)
    return [fact for fact in found if fact.tenant == caller.tenant]


def queue(caller: Caller, /, queue_key: str) -> Op[Queue | None]:
    """One queue by key."""
    return (yield from caller.store.queues(caller.tenant, [queue_key])).get(queue_key)


def queues_all(caller: Caller, /) -> Op[list[Queue]]:
    """All active queues, the most urgent first."""
    found = yield from caller.store.queues(caller.tenant)
    return sorted(found.values(), key=lambda q: (-q.dispatch_priority, q.queue_key))


def queue_items(caller: Caller, /, queue_key: str, *, limit: int = 50, after: OrderKey | None = None) -> Op[list[Item]]:
    """Visible subjects of a queue in execution order."""
    return caller.store.items(caller.tenant, queue_key, limit, after)


def chosen_items(
    caller: Caller, /, queue_key: str, *, site: str | None = None, platform: str | None = None, assay: str | None = None,
    states: Sequence[State] | None = None, limit: int = 50, after: OrderKey | None = None,
) -> Op[ItemPage]:  # fmt: skip
    """Visible subjects of a queue that fit, in execution order. Go on after ``next_after`` until that is None."""
    chosen = ItemFilter(site, platform, assay, states)
    at_least_one(limit)
    return caller.store.chosen_items(caller.tenant, queue_key, chosen, limit, after)


def find_subjects(
    caller: Caller, /, *, subject: SubjectRef | None = None, external_ref: str | None = None, name: str | None = None,
    correlation_id: str | None = None, states: Sequence[State] | None = None, queue_key: str | None = None,
    limit: int = 50, before: int | None = None,
) -> Op[SubjectPage]:  # fmt: skip
    """Subjects to which all that is given fits, newest first; ``name`` is how the name begins.

    Go on below ``next_before`` until that is None: a page may be short, or empty, before that.
    """
    uid = subject_uid(subject) if subject is not None else None
    chosen = SubjectFilter(uid, external_ref, name, correlation_id, states, queue_key)
    at_least_one(limit)
    return caller.store.find_subjects(caller.tenant, chosen, limit, before)


def at_least_one(limit: int) -> None:
    """Refuse a limit that would give nothing: ``InvalidRequest``."""
    if limit < 1:
        raise InvalidRequest("limit must be at least 1.", "Ask for at least one.")


def workers_all(caller: Caller, /) -> Op[list[Worker]]:
    """All workers that are not retired."""
    return caller.store.workers(caller.tenant)


def worker_loads(caller: Caller, /) -> Op[list[WorkerLoad]]:
    """All workers that are not retired, each with the number of ACTIVE leases that it holds."""
    held = yield from caller.store.live_by_worker(caller.tenant)
    return [WorkerLoad(worker, held.get(worker.uid, 0)) for worker in (yield from caller.store.workers(caller.tenant))]


def leases(
    caller: Caller, /, status: LeaseStatus | None = LeaseStatus.ACTIVE, *, limit: int = 100, before: int | None = None,
    queue_key: str | None = None, worker: WorkerRef | None = None,
) -> Op[list[LeaseRow]]:  # fmt: skip
    """Leases, newest first."""
    holder = worker_uid(worker) if worker is not None else None
    return caller.store.leases(caller.tenant, status, limit, before, queue_key, holder)


def dead_letters(
    caller: Caller, /, *, open_only: bool = True, limit: int = 100, before: int | None = None,
    queue_key: str | None = None,
) -> Op[list[DeadLetterRow]]:  # fmt: skip
    """Dead letters, newest first."""
    return caller.store.dead_letters(
        caller.tenant, open_only=open_only, limit=limit, before=before, queue_key=queue_key
    )


def holds(
    caller: Caller, /, *, active_only: bool = True, limit: int = 100, before: int | None = None,
    queue_key: str | None = None,
) -> Op[list[HoldRow]]:  # fmt: skip
    """Holds, newest first."""
    return caller.store.holds(caller.tenant, active_only=active_only, limit=limit, before=before, queue_key=queue_key)


def lineage(caller: Caller, /, thing: SubjectRef) -> Op[list[Edge]]:
    """The edges at one object, both ways."""
    return caller.store.lineage(caller.tenant, subject_uid(thing))


def verify(
    caller: Caller,
    /,
    *,
    subject: SubjectRef | None = None,
    sample: float | None = None,
    everything: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Op[Report]:
    """Check the evidence of the tenant (of all tenants with ``everything``), of one subject, or of a sample (0 to 1)."""
    uid = subject_uid(subject) if subject is not None else None
    tenant = None if everything else caller.tenant
    report = yield from verify_store(caller.store, tenant=tenant, subject=uid, sample=sample, progress=progress)
    flow = next((follower for follower in caller.followers if isinstance(follower, Flow)), None)
    if flow is not None and uid is None:
        yield from verify_runs(caller.store, flow, report, tenant=tenant, sample=sample)
    remote = next((follower for follower in caller.followers if isinstance(follower, Remote)), None)
    if remote is not None and uid is None:
        yield from verify_submissions(caller.store, remote, report, tenant=tenant, sample=sample)
    return report
