"""The hot paths of the store, each as one act on a batch of any size, over the work that ``crowd`` laid down."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tenure.engine.actions.complete import complete_many
from tenure.engine.actions.expire import sweep
from tenure.engine.actions.hold import hold_many
from tenure.engine.actions.submit import submit_many
from tenure.engine.actions.workers import heartbeat_worker
from tenure.engine.caller import Caller
from tenure.model.requests import ClaimItems, CompleteExecution, PlaceHold, SubmitSubject
from tenure.model.result import ActionResult
from tenure.model.worker import Worker
from tenure.store.operation import Op
from tenure.store.records import Claimed, Finish
from tests.store.crowd import TOKEN

_keys = itertools.count(1)


@dataclass
class Scene:
    """What the acts are done on. Before anything is there, ``leases`` and ``subjects`` name what is not."""

    caller: Caller
    queue_key: str
    ripe_key: str
    """A queue with nothing but subjects that fell due and leases that lapsed."""
    queue_keys: Sequence[str]
    idle: Worker
    holder: Worker
    leases: list[int] = field(default_factory=list)
    """Live leases of ``holder``."""
    subjects: list[int] = field(default_factory=list)
    """Waiting subjects."""


def _claim(scene: Scene, count: int) -> Op[int]:
    return _length(
        scene.caller.store.claim(scene.caller.tenant, claim_of(scene, count), "user:ada", None, past_gate=False)
    )


def claim_of(scene: Scene, count: int) -> ClaimItems:
    """What a worker's dispatcher asks for."""
    return ClaimItems(
        worker=scene.idle.uid, incarnation=scene.idle.incarnation, queue_key=scene.queue_key, limit=count,
        token_hash=TOKEN, start=True,
    )  # fmt: skip


def _length(claim: Op[tuple[Any, list[Claimed]]]) -> Op[int]:
    _, taken = yield from claim
    return len(taken)


def _complete(scene: Scene, count: int) -> Op[int]:
    finishes = [Finish(lease, TOKEN, b"p" * 32) for lease in scene.leases[:count]]
    return len(
        (yield from scene.caller.store.complete_plain(scene.caller.tenant, scene.holder.uid, "user:ada", finishes))
    )


def _complete_with_key(scene: Scene, count: int) -> Op[int]:
    requests = [
        CompleteExecution(lease=lease, worker=scene.holder.uid, token_hash=TOKEN, idempotency_key="done")
        for lease in scene.leases[:count]
    ]
    return _done((yield from complete_many(scene.caller, requests)))


def _hold(scene: Scene, count: int) -> Op[int]:
    requests = [PlaceHold(subject=uid, reason="broken seal") for uid in scene.subjects[:count]]
    return _done((yield from hold_many(scene.caller, requests)))


def _done(outcomes: Sequence[Any]) -> int:
    return sum(isinstance(outcome, ActionResult) for outcome in outcomes)


def _renew(scene: Scene, count: int) -> Op[int]:
    leases = [(lease, TOKEN) for lease in scene.leases[:count]]
    caller, holder = scene.caller, scene.holder
    return len((yield from caller.store.renew_plain(caller.tenant, holder.uid, 1, "user:ada", leases, None)))


def _submit(scene: Scene, count: int) -> Op[int]:
    requests = [SubmitSubject(queue_key=scene.queue_key, properties={"sample": i}) for i in range(count)]
    return _done((yield from submit_many(scene.caller, requests)))


def _submit_twice_with_keys(scene: Scene, count: int) -> Op[int]:
    batch = next(_keys)
    requests = [
        SubmitSubject(queue_key=scene.queue_key, idempotency_key=f"k{batch}-{i}", external_ref=f"r{batch}-{i}")
        for i in range(count)
    ]
    yield from submit_many(scene.caller, requests)
    return sum(outcome.replayed for outcome in (yield from submit_many(scene.caller, requests)))


def _promote(scene: Scene, count: int) -> Op[int]:
    return scene.caller.store.promote(scene.caller.tenant, scene.ripe_key, count)


def _lapsed(scene: Scene, count: int) -> Op[int]:
    return len((yield from scene.caller.store.lapsed(scene.caller.tenant, scene.ripe_key, count)))


def _sweep(scene: Scene, count: int) -> Op[int]:
    return len((yield from sweep(scene.caller, scene.ripe_key, count)))


def _next_due(scene: Scene, count: int) -> Op[int]:
    keys = list(scene.queue_keys[:count])
    yield from scene.caller.store.next_due(scene.caller.tenant, keys)
    return len(keys)


def _items(scene: Scene, count: int) -> Op[int]:
    return len((yield from scene.caller.store.items(scene.caller.tenant, scene.queue_key, count)))


def _live(scene: Scene, _: int) -> Op[int]:
    return (yield from scene.caller.store.live_leases(scene.holder.uid))


def _beat(scene: Scene, _: int) -> Op[int]:
    return (yield from heartbeat_worker(scene.caller, scene.idle.uid, scene.idle.incarnation)).incarnation


def _claimed(scene: Scene, count: int) -> Op[int]:
    return len((yield from scene.caller.store.claimed(scene.leases[:count])))


def _claimed_before(scene: Scene, _: int) -> Op[int]:
    """A claim by key, asked for once more."""
    request = claim_of(scene, 1).model_copy(update={"idempotency_key": "morning"})
    store, tenant = scene.caller.store, scene.caller.tenant
    yield from store.claim(tenant, request, "user:ada", None, past_gate=False)
    return len((yield from store.claimed_before(tenant, scene.idle.uid, "morning")))


def _workers(scene: Scene, _: int) -> Op[int]:
    store, tenant = scene.caller.store, scene.caller.tenant
    found = [
        (yield from store.worker(tenant, uid=scene.idle.uid)),
        (yield from store.worker(tenant, key=scene.idle.worker_key)),
        (yield from store.worker(tenant, uid=scene.idle.uid, lock=True)),
        (yield from store.worker(tenant, key=scene.idle.worker_key, lock=True)),
    ]
    assert all(worker == scene.idle for worker in found)
    return 1


@dataclass(frozen=True)
class Act:
    """One hot path and the statements that it runs on a million rows."""

    name: str
    perform: Callable[[Scene, int], Op[int]]
    statements: tuple[str, ...]
    batches: tuple[int, ...] = (1, 100, 1000)


_AND_FEW = (1, 3, 100, 1000)
_LOADING = ("lock_subjects", "load_threads", "queues", "workers", "clock", "fresh_uids")

ACTS = (
    Act("claim", _claim, ("claim", "claim_few"), _AND_FEW),
    Act("complete", _complete, ("complete_plain", "complete_few"), _AND_FEW),
    Act("renew", _renew, ("renew_plain",)),
    Act("submit", _submit, ("submit", "submit_one")),
    Act("submit twice with keys", _submit_twice_with_keys, ("submit", "submit_one", "find_submitted", "refuse")),
    Act("complete with a key", _complete_with_key, ("subjects_of_leases", *_LOADING, "load_replays", "apply")),
    Act("hold", _hold, (*_LOADING, "apply")),
    Act("sweep", _sweep, ("lapsed", "subjects_of_leases", "lock_subjects_free", "load_threads", "load_replays", "apply")),
    Act("promote", _promote, ("promote",)),
    Act("lapsed", _lapsed, ("lapsed",)),
    Act("next due", _next_due, ("next_due",), (1, 100)),
    Act("items", _items, ("items",)),
    Act("claimed", _claimed, ("claimed",)),
    Act("claimed before", _claimed_before, ("claim_few", "claimed"), (1,)),
    Act("live leases", _live, ("live_leases",), (1000,)),
    Act("beat", _beat, ("beat",), (1,)),
    Act("workers", _workers, ("worker", "lock_worker"), (1,)),
)  # fmt: skip
