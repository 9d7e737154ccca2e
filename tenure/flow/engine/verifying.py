"""verify, for runs: facts prove themselves, rows stand as facts tell, runnables have their subjects, checkpoints fit.

A run is first looked at beside the work; what seems to diverge is looked at again under its lock, so that a run that
moved on meanwhile is not taken for a wrong one (design 01, Verify).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from tenure.engine.verify import Report
from tenure.flow.engine.flow import Flow
from tenure.flow.journal import Checkpoint, JournalCorrupt, JournalUnknown
from tenure.flow.model.bits import has
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.fold import fold
from tenure.flow.model.names import Runnable, parse_runnable
from tenure.flow.model.state import FORMAT, RunState, RunStatus
from tenure.flow.port import Standing
from tenure.flow.rows import RunRow
from tenure.model import euid
from tenure.model.fact import Fact
from tenure.model.json_text import payload_hash
from tenure.model.states import TERMINAL, State
from tenure.store.operation import Op
from tenure.store.port import Store
from tenure.store.records import Divergence

_BATCH = 100


def verify_runs(
    store: Store, flow: Flow, report: Report, *, tenant: int | None = None, sample: float | None = None
) -> Op[None]:
    """Check the runs of one tenant or of all, or a share of them, and add what is found to the report."""
    after = 0
    while threads := (yield from flow.storage.journal.threads(after, _BATCH)):
        after = threads[-1]
        chosen = [uid for uid in threads if sample is None or zlib.crc32(str(uid).encode()) < sample * 2**32]
        rows = yield from flow.storage.runs(tenant, chosen)
        standings: dict[int, list[Standing]] = {uid: [] for uid in rows}
        for standing in (yield from flow.storage.standings(sorted(rows), everything=True)):
            standings[standing.runnable.run].append(standing)
        for uid in sorted(rows):
            count, found = yield from _checked(flow, uid, rows[uid], standings[uid])
            if found:
                count, found = yield from store.transaction(_again(flow, uid, rows[uid].tenant))
            report.runs += 1
            report.facts += count
            report.add(found)


def _again(flow: Flow, uid: int, tenant: int) -> Op[tuple[int, list[Divergence]]]:
    yield from flow.storage.lock_runs(tenant, [uid])
    row = (yield from flow.storage.runs(tenant, [uid]))[uid]
    standings = yield from flow.storage.standings([uid], everything=True)
    return (yield from _checked(flow, uid, row, standings))


def _checked(flow: Flow, uid: int, row: RunRow, standings: Sequence[Standing]) -> Op[tuple[int, list[Divergence]]]:
    """How many facts were looked at, and what is wrong with one run."""
    try:
        facts = yield from flow.storage.journal.load(uid)
    except (JournalCorrupt, JournalUnknown) as error:
        kind = {"gap": "seq_gap"}.get(str(error.evidence.get("fault")), "hash_broken")
        return 0, [_divergence(kind, uid, error.message, **error.evidence)]
    state = fold(facts, uid)
    definitions = yield from flow.definitions(row.tenant, [row.workflow])
    checkpoint = yield from flow.storage.journal.checkpoint(uid)
    found = [
        *_anomalies(state), *_row(row, state, facts, definitions.get(row.workflow)),
        *_runnables(state, standings), *_checkpoint(checkpoint, facts),
    ]  # fmt: skip
    return len(facts), found


def _anomalies(state: RunState) -> Iterator[Divergence]:
    if state.anomaly_count:
        first = state.anomalies[0]
        yield _divergence(
            "run_anomaly", state.run, f"Fact {first.seq} does not fit: {first.reason}.", count=state.anomaly_count,
            seq=first.seq, type=first.type,
        )  # fmt: skip


def _row(
    row: RunRow, state: RunState, facts: Sequence[Fact], definition: WorkflowDefinition | None
) -> Iterator[Divergence]:
    end = state.end
    manual = state.manual.model_dump(mode="json", exclude_none=True) if state.manual is not None else None
    told: dict[str, Any] = {
        "status": str(state.status), "seq": facts[-1].seq, "head": facts[-1].hash, "run_key": state.key,
        "name": state.workflow, "boundary": manual, "ended_at": end.at if end is not None else None,
        "parent_run": state.parent.run if state.parent else None, "root": state.root, "started_at": state.started_at,
        "input_hash": bytes.fromhex(state.input_hash or ""),
    }  # fmt: skip
    have = {name: getattr(row, name) for name in told}
    have["boundary"] = dict(row.boundary) if row.boundary is not None else None
    if different := {n: {"row": _plain(have[n]), "facts": _plain(told[n])} for n in told if have[n] != told[n]}:
        yield _divergence(
            "run_differs",
            row.uid,
            f"The run differs from what its facts tell in {', '.join(different)}.",
            fields=different,
        )
    if payload_hash(row.input) != row.input_hash:
        yield _divergence("run_input_differs", row.uid, "The input is not what the first fact proves.")
    if end is not None and end.status is RunStatus.COMPLETED and payload_hash(row.output).hex() != end.output_hash:
        yield _divergence("run_output_differs", row.uid, "The output is not what the last fact proves.")
    if definition is None or definition.fingerprint != state.fingerprint:
        yield _divergence("run_definition_differs", row.uid, "The definition is not the one by which the run goes.")


def _runnables(state: RunState, standings: Sequence[Standing]) -> Iterator[Divergence]:
    known = {s.runnable.runnable_key for s in standings}
    for standing in standings:
        runnable, subject = standing.runnable, standing.runnable.subject
        at = parse_runnable(runnable.runnable_key)
        if at is None or (at.step, at.iteration) != (runnable.step, runnable.iteration):
            yield _divergence("runnable_differs", state.run, "A runnable is not what its key says.", subject=subject)
        elif standing.state is None:
            yield _divergence("runnable_without_subject", state.run, f"Nothing stands for {at}.", runnable=str(at))
        elif state.end is not None and standing.state not in TERMINAL:
            yield _divergence("work_after_end", state.run, f"The run has ended, and {at} goes on.", subject=subject)
        elif standing.state in (State.COMPLETED, State.CANCELED) and _waits(state, at):
            yield _divergence(
                "end_not_applied", state.run, f"{at} has ended, and the run waits for it.", subject=subject
            )
    for active in state.active:
        step = state.under_way(active)
        if step is None or step.kind not in ("task", "human", "external") or str(active) in known:
            continue
        yield _divergence("runnable_missing", state.run, f"{active} is under way, and nothing stands for it.")


def _waits(state: RunState, runnable: Runnable) -> bool:
    step = state.under_way(Runnable(runnable.step, runnable.iteration))
    if step is None or not step.active:
        return False
    return step.items is None or runnable.index is None or not has(step.items.ended, runnable.index)


def _checkpoint(checkpoint: Checkpoint | None, facts: Sequence[Fact]) -> Iterator[Divergence]:
    if checkpoint is None or checkpoint.format != FORMAT:
        return
    covered = [fact for fact in facts if fact.seq <= checkpoint.rev]
    if len(covered) != checkpoint.rev or covered[-1].hash != checkpoint.head:
        yield _divergence("checkpoint_differs", checkpoint.thread, "The checkpoint covers what is not there.")
    elif fold(covered, checkpoint.thread).checkpoint() != dict(checkpoint.state):
        yield _divergence("checkpoint_differs", checkpoint.thread, "The checkpoint is not what its facts come to.")


def _divergence(kind: str, run: int, message: str, **evidence: Any) -> Divergence:
    evidence.pop("thread", None)
    return Divergence(kind, run, message, {"run": euid.format_euid(euid.RUN, run), **evidence})


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else str(value) if value is not None else None
