"""Code-first steps: what code inside a task keeps, waits for and starts, as facts of its run (design 02, Model).

Each is done by the holder of the lease of the runnable's subject, and refused once the lease has run out or was lost.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tenure.engine.caller import Caller
from tenure.flow.engine.adopting import runnable_of_job
from tenure.flow.engine.advance import advance
from tenure.flow.engine.asking import open_run
from tenure.flow.engine.deciding import input_problem
from tenure.flow.engine.flow import flow_of
from tenure.flow.engine.moving import Moving, Verb
from tenure.flow.engine.values import payload_ref
from tenure.flow.engine.workflows import workflow
from tenure.flow.model.decisions.children import decide_keep, decide_start_child, keep_key
from tenure.flow.model.decisions.signal import decide_await
from tenure.flow.model.facts import ChildStarted, SignalTaken, StepKept
from tenure.flow.model.requests import AwaitSignal, KeepStep, StartChildRun
from tenure.flow.rows import RunnableRow
from tenure.model.errors import Forbidden, InvalidPayload, LeaseExpired, NotFound, StaleLease
from tenure.model.fact import Fact
from tenure.model.json_text import payload_hash
from tenure.model.requests import validated
from tenure.model.thread import SubjectThread
from tenure.store.operation import Op
from tenure.store.records import Target


@dataclass(frozen=True, slots=True)
class Holder:
    """Whose code it is: the subject of the runnable, and the lease under which it runs."""

    subject: int
    lease: int
    worker: int
    token_hash: bytes | None = None
    """What proves that it is the holder that asks."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What was kept under a name, and the store's time."""

    value: Any
    now: datetime


def kept(caller: Caller, holder: Holder, name: str) -> Op[Kept | None]:
    """What a former attempt, or this one, has kept under a name."""
    found = yield from flow_of(caller).storage.runnables_of(caller.tenant, [holder.subject])
    runnable = found.get(holder.subject)
    if runnable is None:
        return None
    key = keep_key(runnable.runnable_key, name)
    fact = yield from caller.store.prior_fact(runnable.run, (StepKept.TYPE,), key)
    if fact is None:
        return None
    return Kept((yield from _value(caller, fact)), (yield from caller.store.clock()))


def look(caller: Caller, holder: Holder, name: str) -> Op[Kept | None]:
    """The same for a holder whose lease is to be proved first."""
    return (yield from caller.store.transaction(_look(caller, holder, name)))


def began(caller: Caller, holder: Holder, name: str, seconds: float) -> Op[Kept]:
    """Until when a span lasts that began with the first attempt, as ISO 8601 text; it is kept under the name."""
    now = yield from caller.store.clock()
    return (yield from keep(caller, holder, name, (now + timedelta(seconds=seconds)).isoformat()))


def _look(caller: Caller, holder: Holder, name: str) -> Op[Kept | None]:
    yield from _held(caller, holder)
    return (yield from kept(caller, holder, name))


def keep(caller: Caller, holder: Holder, name: str, value: Any) -> Op[Kept]:
    """Keep a value under a name; where something is kept already, that stays and is the answer."""
    return (yield from caller.store.transaction(_keep(caller, holder, name, value)))


def take_signal(caller: Caller, holder: Holder, name: str, number: int) -> Op[Kept | None]:
    """The payload of the oldest signal of that name; None where none is there, and the runnable is woken by the next.

    ``number`` tells the places in the code apart that wait for the same name, so that each takes one, once.
    """
    return (yield from caller.store.transaction(_take_signal(caller, holder, name, number)))


def taken(caller: Caller, holder: Holder, name: str, number: int) -> Op[tuple[Kept | None, datetime]]:
    """``take_signal``, and the store's time."""
    signal = yield from take_signal(caller, holder, name, number)
    return signal, (yield from caller.store.clock())


def start_child(
    caller: Caller, holder: Holder, name: str, value: Any, child_key: str, version: int | None = None
) -> Op[int]:
    """Start a child run; the same key from another attempt is the same child. Its uid."""
    return (yield from caller.store.transaction(_start_child(caller, holder, name, value, child_key, version)))


def _keep(caller: Caller, holder: Holder, name: str, value: Any) -> Op[Kept]:
    runnable, moving = yield from _enter(caller, holder)
    uid = (yield from caller.store.fresh_uids(1))[0]
    request = validated(
        KeepStep, runnable=runnable.runnable_key, name=name, ref=payload_ref(uid), hash=payload_hash(value).hex()
    )
    key = keep_key(runnable.runnable_key, name)
    replay = yield from caller.store.prior_fact(runnable.run, (StepKept.TYPE,), key)
    now = yield from caller.store.clock()
    if replay is not None:
        return Kept((yield from _value(caller, replay)), now)
    moving.payloads[uid] = value
    verb = Verb(lambda state, of, context: decide_keep(state, of, request, context))
    yield from advance(flow_of(caller), caller, {moving.uid: [verb]}, opened={moving.uid: moving})
    return Kept(value, now)


def _take_signal(caller: Caller, holder: Holder, name: str, number: int) -> Op[Kept | None]:
    runnable, moving = yield from _enter(caller, holder)
    key = f"await:{payload_hash([runnable.runnable_key, name, number]).hex()}"
    request = validated(AwaitSignal, runnable=runnable.runnable_key, name=name, idempotency_key=key)
    replay = yield from caller.store.prior_fact(runnable.run, (SignalTaken.TYPE,), key)
    waiting = {signal.seq: signal for signal in moving.state.signals}
    verb = Verb(lambda state, of, context: decide_await(state, of, request, context), replay)
    before = moving.end.rev
    yield from advance(flow_of(caller), caller, {moving.uid: [verb]}, opened={moving.uid: moving})
    now = yield from caller.store.clock()
    if replay is not None:
        seq = int((replay.data or {})["signal"])
        (received,) = yield from flow_of(caller).storage.journal.load(moving.uid, seq - 1, 1)
        return Kept((yield from _value(caller, received)), now)
    taken = {seq for seq in waiting if all(signal.seq != seq for signal in moving.state.signals)}
    if moving.end.rev == before or not taken:
        return None
    signal = waiting[taken.pop()]
    ref = {"ref": signal.ref} if signal.ref is not None else {}
    return Kept((yield from _at(caller, ref.get("ref"))), now)


def _start_child(caller: Caller, holder: Holder, name: str, value: Any, child_key: str, version: int | None) -> Op[int]:
    flow = flow_of(caller)
    runnable, moving = yield from _enter(caller, holder)
    row = yield from workflow(caller, name, version)
    definition = (yield from flow.definitions(caller.tenant, [row.uid]))[row.uid]
    if (problem := input_problem(definition, value)) is not None:
        raise InvalidPayload(f"The input breaks the schema of workflow {name!r}: {problem}.", "Correct the input.")
    request = validated(
        StartChildRun, runnable=runnable.runnable_key, workflow=name, version=version, child_key=child_key, input=value
    )
    replay = yield from caller.store.prior_fact(runnable.run, (ChildStarted.TYPE,), f"child:{child_key}")
    verb = Verb(lambda state, of, context: decide_start_child(state, of, request, context), replay)
    yield from advance(flow, caller, {moving.uid: [verb]}, opened={moving.uid: moving})
    return moving.state.children[child_key]


def _enter(caller: Caller, holder: Holder) -> Op[tuple[RunnableRow, Moving]]:
    """The runnable and its run under lock, for who still holds the lease; a plain job becomes a run of one step here."""
    runnable = yield from runnable_of_job(caller, (yield from _held(caller, holder)))
    return runnable, (yield from open_run(flow_of(caller), caller, runnable.run))


def _held(caller: Caller, holder: Holder) -> Op[SubjectThread]:
    """The subject under lock, for who still holds the lease and proves it."""
    loaded = yield from caller.store.load(caller.tenant, [Target((), subject=holder.subject)])
    thread = loaded.threads.get(holder.subject)
    if thread is None:
        raise NotFound("There is no such subject.", "Check its EUID.")
    lease = next((a for a in thread.live_attempts if a.uid == holder.lease and a.worker == holder.worker), None)
    if lease is None:
        raise StaleLease("The lease has ended already.", "Drop the work: it may be with another worker.")
    proof = loaded.token_hashes.get(holder.lease, b"")
    if holder.token_hash is not None and not hmac.compare_digest(proof, holder.token_hash):
        raise Forbidden("The lease is not proved: its token is another.", "Send the token that the claim answered.")
    if lease.expired(loaded.now):
        raise LeaseExpired("The lease has expired; the work may be with another worker.", "Drop the work.")
    return thread


def _value(caller: Caller, fact: Fact) -> Op[Any]:
    return (yield from _at(caller, (fact.data or {}).get("ref")))


def _at(caller: Caller, ref: str | None) -> Op[Any]:
    if ref is None:
        return None
    uid = int(ref.partition(":")[2])
    return (yield from flow_of(caller).storage.payloads([uid])).get(uid)
