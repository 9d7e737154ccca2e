"""Writing what decisions gave: facts first, then the subjects of what they plan, each as one set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from tenure.engine.actions.submit import checked, templates_by_code
from tenure.engine.caller import Caller
from tenure.flow.engine.moving import Moving
from tenure.flow.journal import Checkpoint
from tenure.flow.model.commands import Submit
from tenure.flow.model.requests import Ended
from tenure.flow.model.state import FORMAT
from tenure.flow.rows import RunnableRow
from tenure.model.errors import QueueUnknown, TemplateNotServed, TenureError
from tenure.model.requests import SubmitSubject
from tenure.store.operation import Op
from tenure.store.records import Submission, Template

if TYPE_CHECKING:
    from tenure.flow.engine.flow import Flow

#: A checkpoint is kept every so many entries, so that no step costs more because the run is long.
EVERY = 32
FOLLOWS, ROOT = "step_follows", "run_root"
Planned = tuple[Moving, Submit, int]
"""A runnable that is to be submitted, with the uid of its subject."""


def write(flow: Flow, caller: Caller, moved: Sequence[Moving]) -> Op[list[tuple[Moving, Ended]]]:
    """Append the facts of all, keep checkpoints, submit what was planned; the news of what could not be submitted."""
    planned, again = yield from _plan(flow, caller, moved)
    told = sorted((moving for moving in moved if moving.entries), key=lambda moving: moving.uid)
    if told:
        ends = yield from flow.storage.append([moving.append() for moving in told])
        for moving, end in zip(told, ends, strict=True):
            moving.written(end)
        yield from keep_checkpoints(flow, told)
    if again:
        yield from flow.storage.add_runnables(again)
    return (yield from _submit(flow, caller, planned)) if planned else []


def _plan(flow: Flow, caller: Caller, moved: Sequence[Moving]) -> Op[tuple[list[Planned], list[RunnableRow]]]:
    """Give each runnable that is to be submitted its subject; one that is there already is left."""
    # Each once: what is planned now, a recovery in the same round asks for again.
    named = {(m.uid, str(c.runnable)): (m, c) for m in moved for c in m.commands if isinstance(c, Submit)}
    asked = list(named.values())
    if not asked:
        return [], []
    keys = {(moving.uid, str(c.runnable)) for moving, c in asked}
    keys |= {(moving.uid, parent) for moving, c in asked for parent in c.parents}
    known = dict((yield from flow.storage.subjects_of(sorted(keys))))
    fresh = [(m, c) for m, c in asked if (m.uid, str(c.runnable)) not in known]
    uids = dict(
        zip([(m.uid, str(c.runnable)) for m, c in fresh], (yield from caller.store.fresh_uids(len(fresh))), strict=True)
    )
    planned: list[Planned] = []
    again: list[RunnableRow] = []
    for moving, command in asked:
        key = (moving.uid, str(command.runnable))
        if key in known:
            subject, there = known[key]
            if not there:
                planned.append((moving, command, subject))
            continue
        adopted = moving.adopted.get(key[1])
        row = RunnableRow(
            adopted if adopted is not None else uids[key],
            moving.row.tenant,
            moving.uid,
            key[1],
            command.runnable.step,
            command.runnable.iteration,
            command.retry.model_dump(mode="json") if command.retry is not None else None,
        )
        (moving.runnables if moving.entries else again).append(row)
        if adopted is not None:
            continue
        moving.links += _links(moving, command, uids[key], known, uids)
        planned.append((moving, command, uids[key]))
    return planned, again


def _links(
    moving: Moving, command: Submit, subject: int, known: Mapping[tuple[int, str], tuple[int, bool]],
    uids: Mapping[tuple[int, str], int],
) -> list[tuple[int, int, str]]:  # fmt: skip
    """A new unit in the chain: linked to those that it follows from and to the root datum (S2, unit chaining)."""
    links = [] if moving.row.root is None else [(moving.row.root, subject, ROOT)]
    for parent in command.parents:
        key = (moving.uid, parent)
        before = known[key][0] if key in known else uids.get(key)
        if before is not None:
            links.append((before, subject, FOLLOWS))
    return links


def keep_checkpoints(flow: Flow, told: Sequence[Moving]) -> Op[None]:
    """Keep checkpoints of those that have grown by so much since the last."""
    due = [moving for moving in told if moving.end.rev - moving.covered >= EVERY]
    if due:
        yield from flow.storage.journal.put_checkpoints(
            [Checkpoint(m.uid, m.end.rev, m.end.head, FORMAT, m.state.checkpoint()) for m in due]
        )
        for moving in due:
            moving.covered = moving.end.rev


def _submit(flow: Flow, caller: Caller, planned: Sequence[Planned]) -> Op[list[tuple[Moving, Ended]]]:
    templates = yield from templates_by_code(caller, {command.template for _, command, _ in planned})
    news: list[tuple[Moving, Ended]] = []
    items: list[tuple[Planned, Submission]] = []
    for one in planned:
        moving, command, subject = one
        try:
            barred = (yield from _barred(flow, caller, moving.uid, command.not_by)) if command.not_by else {}
            submission = checked(request_of(moving, command, barred), templates)
        except (TenureError, ValidationError) as error:
            news.append((moving, _unfit(command, error)))
            continue
        items.append((one, replace(submission, uid=subject, in_run=True, retry=command.retry)))
    if not items:
        return news
    answers = yield from caller.store.submit(caller.tenant, caller.actor, [item for _, item in items])
    closed = [
        item for (_, item), answer in zip(items, answers, strict=True)
        if isinstance(answer, QueueUnknown | TemplateNotServed)
    ]  # fmt: skip
    if closed:
        # It waits without a queue until an operator gives it one: what was done before must not be lost for that.
        apart = [_without_queue(item, templates) for item in closed]
        answers = [a for a in answers if not isinstance(a, QueueUnknown | TemplateNotServed)]
        answers += yield from caller.store.submit(caller.tenant, caller.actor, apart)
    for answer in answers:
        if isinstance(answer, TenureError):
            raise answer
    for (moving, _, _), _ in items:
        moving.submitted += 1
    return news


def _barred(flow: Flow, caller: Caller, run: int, runnables: Sequence[str]) -> Op[dict[str, tuple[int, ...]]]:
    """The workers that did these runnables, and the principals that own them: neither is to do it again."""
    known = yield from flow.storage.subjects_of([(run, key) for key in runnables])
    doers = yield from flow.storage.doers(caller.tenant, [subject for subject, _ in known.values()])
    owners = {owner for owner in doers.values() if owner is not None}
    told = {"barred_workers": tuple(sorted(doers)), "barred_principals": tuple(sorted(owners))}
    return {name: uids for name, uids in told.items() if uids}


def _without_queue(item: Submission, templates: Mapping[str, Template]) -> Submission:
    request = item.request.model_copy(update={"queue_key": None, "ready": False})
    return replace(checked(request, dict(templates)), uid=item.uid, in_run=True, retry=item.retry)


def request_of(moving: Moving, command: Submit, barred: Mapping[str, Any]) -> SubmitSubject:
    """The submission of what a run plans, for all but those who are ``barred`` from it."""
    payload: Any = command.payload
    return SubmitSubject(
        template=command.template, queue_key=command.queue, next_action_key=command.action,
        properties=dict(payload) if isinstance(payload, Mapping) else {"value": payload},
        name=f"{moving.row.name}: {command.runnable}", priority=command.priority, due_at=command.deadline,
        max_attempts=command.max_attempts, slots=command.slots, correlation_id=moving.row.correlation_id, **barred,
    )  # fmt: skip


def _unfit(command: Submit, error: Exception) -> Ended:
    code = error.code if isinstance(error, TenureError) else "invalid_payload"
    return Ended(
        runnable=str(command.runnable), outcome="error", error_class="PERMANENT_INPUT", error_code=code,
        message=str(error)[:2000], untouched=True,
    )  # fmt: skip
