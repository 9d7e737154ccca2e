"""verify, for submissions: threads prove themselves, rows stand as facts tell, projections follow from the subject.

A submission is first looked at beside the work; what seems to diverge is looked at again under the lock of its subject, so
that one that moved on meanwhile is not taken for a wrong one (design 01, Verify).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from tenure.engine.proof import Chain
from tenure.engine.verify import Report
from tenure.model import fact_types as ft
from tenure.model.fact import Fact
from tenure.remote.engine.receiving import source_of
from tenure.remote.engine.remote import Remote
from tenure.remote.model.contracts import SubmitJobCommand
from tenure.remote.model.execution import NEXT
from tenure.remote.model.fields import ExecutionState
from tenure.remote.model.names import submission_id_of
from tenure.remote.model.projection import Projection, projected
from tenure.remote.model.signals import command_hash
from tenure.remote.rows import ExecutionRow, SubmissionRow
from tenure.store.operation import Op
from tenure.store.port import Store
from tenure.store.records import Divergence, Target

_BATCH = 100
_FACTS = 10_000


def verify_submissions(
    store: Store, remote: Remote, report: Report, *, tenant: int | None = None, sample: float | None = None
) -> Op[None]:
    """Check the submissions of one tenant or of all, or a share of them, and add what is found to the report."""
    after = 0
    while rows := (yield from remote.storage.submissions_after(tenant, after, _BATCH)):
        after = rows[-1].uid
        chosen = [row for row in rows if sample is None or zlib.crc32(str(row.uid).encode()) < sample * 2**32]
        executions = yield from remote.storage.executions([row.uid for row in chosen])
        for row in chosen:
            count, found = yield from _checked(store, remote, row, executions.get(row.uid, []))
            if found:
                count, found = yield from store.transaction(_again(store, remote, row))
            report.submissions += 1
            report.facts += count
            report.add(found)


def _again(store: Store, remote: Remote, row: SubmissionRow) -> Op[tuple[int, list[Divergence]]]:
    yield from store.load(row.tenant, [Target((), subject=row.subject)])
    now = (yield from remote.storage.submissions(row.tenant, [row.uid]))[row.uid]
    executions = yield from remote.storage.executions([row.uid])
    return (yield from _checked(store, remote, now, executions.get(row.uid, [])))


def _checked(
    store: Store, remote: Remote, row: SubmissionRow, executions: Sequence[ExecutionRow]
) -> Op[tuple[int, list[Divergence]]]:
    """How many facts were looked at, and what is wrong with one submission."""
    facts = yield from store.facts(row.uid, 0, _FACTS)
    of_subject = yield from store.facts(row.subject, 0, _FACTS)
    chain = Chain(row.uid)
    chain.extend(facts)
    found = [*chain.divergences(row.seq, row.head), *_command(row, facts), *_projection(row, facts, of_subject)]
    found += _executions(row, facts, executions)
    cleared = yield from remote.storage.inbox_cleared(row.tenant)
    events = [
        (source_of(row), str(fact.idempotency_key)) for fact in facts
        if fact.type == ft.EVENT_RECEIVED and (cleared is None or fact.at > cleared)
    ]  # fmt: skip
    known = (yield from remote.storage.known_events(row.tenant, events)) if events else {}
    found += [
        _divergence("event_not_in_inbox", row, f"Event {event_id} was taken in, and the inbox does not know it.")
        for source, event_id in events if (source, event_id) not in known
    ]  # fmt: skip
    return len(facts), found


def _command(row: SubmissionRow, facts: Sequence[Fact]) -> Iterator[Divergence]:
    first = facts[0] if facts else None
    if first is None or first.type != ft.SUBMISSION_ACCEPTED:
        yield _divergence("submission_differs", row, "Its thread does not begin with its acceptance.")
        return
    data = first.data or {}
    told = {
        "workspace_id": data.get("workspace_id"), "job_id": data.get("job_id"), "node_name": data.get("node"),
        "subject": data.get("subject"), "placement": data.get("placement"), "idempotency_key": first.idempotency_key,
        "command_hash": first.payload_hash, "accepted_at": first.at, "trace_id": first.trace_id,
    }  # fmt: skip
    have = {name: getattr(row, name) for name in told} | {"placement": dict(row.placement)}
    yield from _differences("submission_differs", "submission", row, have, told)
    if _hash_of(row.command) != row.command_hash:
        yield _divergence("submission_command_differs", row, "The command is not what the first fact proves.")


def _hash_of(command: Mapping[str, Any]) -> bytes | None:
    try:
        return command_hash(SubmitJobCommand.model_validate(command))
    except ValidationError:
        return None


def _projection(row: SubmissionRow, facts: Sequence[Fact], of_subject: Sequence[Fact]) -> Iterator[Divergence]:
    projection = Projection()
    ought = [_plain(projection)]
    for fact in of_subject:
        after = projected(projection, fact)
        if after != projection:
            projection = after
            ought.append(_plain(projection))
    have = [
        (d.get("projection_round"), d.get("projection_state"), d.get("source_execution_state"))
        for fact in facts if fact.type == ft.PROJECTION_UPDATED
        for d in [fact.data or {}]
    ]  # fmt: skip
    if have != ought:
        yield _divergence(
            "projection_differs",
            row,
            "The product was not told what follows from the subject.",
            told=have,
            follows=ought,
        )
    if _plain(row.projection) != ought[-1]:
        yield _divergence(
            "projection_row_differs", row, "The projection is not the one that was told last.",
            has=_plain(row.projection), follows=ought[-1],
        )  # fmt: skip


def _plain(projection: Projection) -> tuple[int, str, str | None]:
    source = str(projection.source) if projection.source is not None else None
    return projection.round, str(projection.state), source


def _executions(row: SubmissionRow, facts: Sequence[Fact], executions: Sequence[ExecutionRow]) -> Iterator[Divergence]:
    told: dict[int, dict[str, Any]] = {}
    for fact in facts:
        if fact.type != ft.EVENT_RECEIVED:
            continue
        data = fact.data or {}
        number, state = int(data["number"]), ExecutionState(data["state"])
        ref = data.get("scheduler_ref") or {}
        known = told.setdefault(number, {"state": None, "slurm_job_id": None, "execution_id": data["execution_id"]})
        if state not in NEXT[known["state"]]:
            yield _divergence(
                "event_out_of_order", row, f"Execution {number} was {known['state']} before {state}.", seq=fact.seq
            )
        if known["slurm_job_id"] not in (None, ref.get("slurm_job_id") or known["slurm_job_id"]):
            yield _divergence("slurm_job_id_changed", row, f"Execution {number} changed its Slurm job.", seq=fact.seq)
        known["state"] = state
        known["slurm_job_id"] = known["slurm_job_id"] or ref.get("slurm_job_id")
    have = {each.execution.number: each.execution for each in executions}
    for number in sorted({*told, *have}):
        execution = have.get(number)
        ought = told.get(number, {"state": None})
        if execution is None:
            yield _divergence("execution_differs", row, f"Execution {number} is told of, and is not there.")
        else:
            present = {name: getattr(execution, name) for name in ought}
            yield from _differences("execution_differs", f"execution {number}", row, present, ought)


def _differences(
    kind: str, what: str, row: SubmissionRow, have: Mapping[str, Any], ought: Mapping[str, Any]
) -> Iterator[Divergence]:
    different = [name for name in ought if have[name] != ought[name]]
    if different:
        yield _divergence(
            kind, row, f"The {what} differs from what its facts tell in {', '.join(different)}.",
            fields={name: {"row": str(have[name]), "facts": str(ought[name])} for name in different},
        )  # fmt: skip


def _divergence(kind: str, row: SubmissionRow, message: str, **evidence: Any) -> Divergence:
    return Divergence(kind, row.subject, message, {"submission": submission_id_of(row.uid), **evidence})
