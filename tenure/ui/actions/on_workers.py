"""What an admin does to workers and to the leases of others: drain, disable, enable, retire, force to expire."""

from __future__ import annotations

from tenure.model import euid
from tenure.model.roles import Permission
from tenure.model.worker import Worker
from tenure.sdk import operations as ops
from tenure.ui import places
from tenure.ui.actions.action import Action, Done, Values, reason
from tenure.ui.visitor import Visitor

_DEEDS = {
    "drain": (ops.drain_worker, "Drain the worker", "Drain", "is draining",
              "It finishes what it holds and claims no more.", None),
    "disable": (ops.disable_worker, "Disable the worker", "Disable", "is disabled",
                "It may neither claim nor renew: what it holds runs out and is taken over.", "danger"),
    "enable": (ops.enable_worker, "Enable the worker", "Enable", "is enabled", "It may claim again.", None),
    "retire": (ops.retire_worker, "Retire the worker", "Retire", "is retired",
               "It is gone for good, unless a process registers its key again.", "danger"),
}  # fmt: skip


def change(visitor: Visitor, worker: Worker, deed: str) -> Action:
    """Drain, disable, enable or retire a worker."""
    operation, title, submit, done, says, tone = _DEEDS[deed]

    async def perform(values: Values, key: str) -> Done:
        changed = await visitor.act(
            Permission.ADMINISTER,
            lambda caller: operation(caller, worker.uid, reason=values["reason"].strip(), idempotency_key=key),
        )
        return Done(f"{worker.worker_key} {done}.", places.worker(worker.uid, changed.seq), f"Fact #{changed.seq}")

    return Action(title, submit, perform, worker.worker_key, says, (reason(),), tone)


def expire_lease(visitor: Visitor, lease: int, *, live: bool) -> Action:
    """End a lease that ran out, or a live one by force."""

    async def perform(values: Values, key: str) -> Done:
        result = await visitor.act(
            Permission.ADMINISTER,
            lambda caller: ops.expire_lease(caller, lease, force=live, reason=values["reason"], idempotency_key=key),
        )
        return Done(f"{name} is expired.", places.subject(result.subject, result.seq), f"Fact #{result.seq}")

    name = euid.format_euid(euid.LEASE, lease)
    says = (
        "Its holder loses it at once: whatever the worker reports from now on is refused, and the work can be claimed again."
        if live
        else "It ran out already; this writes it down."
    )
    return Action("Force the lease to expire", "Expire lease", perform, name, says, (reason(),), "danger")
