"""Whether a node may run what is asked, and where at its scheduler (design 04, policy_rejected)."""

from __future__ import annotations

from collections.abc import Sequence

from tenure.remote.model.contracts import Placement
from tenure.remote.model.errors import PolicyRejected
from tenure.remote.model.fields import ExecutionProfile, ResourceShape
from tenure.remote.model.node import NodeQueue, NodeSpec


def placed(node: str, spec: NodeSpec, profile: ExecutionProfile, shape: ResourceShape) -> Placement:
    """Partition, account and QOS of a submission; ``PolicyRejected`` with the first reason against it."""
    name = profile.queue_name
    queue = spec.queues.get(name)
    if queue is None:
        raise PolicyRejected(
            f"Node {node} has no queue {name!r}.", f"It has {', '.join(sorted(spec.queues))}.", queue_name=name
        )
    placement = Placement(
        partition=queue.partition,
        account=_chosen("account", name, profile.account, queue.account, queue.accounts),
        qos=_chosen("qos", name, profile.qos, queue.qos, queue.qos_allowed),
    )
    _within(name, queue, shape)
    return placement


def _chosen(what: str, name: str, asked: str | None, default: str | None, allowed: Sequence[str]) -> str | None:
    if asked is None or asked == default or asked in allowed:
        return asked if asked is not None else default
    known = sorted({*allowed, *([default] if default is not None else [])})
    may = f"It takes {', '.join(known)}." if known else f"Leave {what} out: the site decides it."
    raise PolicyRejected(f"Queue {name!r} does not take {what} {asked!r}.", may, queue_name=name, field=what)


def _within(name: str, queue: NodeQueue, shape: ResourceShape) -> None:
    limits = (
        ("walltime_seconds", shape.walltime_seconds, queue.max_walltime_seconds, "seconds of wall time"),
        ("cpu", shape.cpu, queue.max_cpu, "cores"),
        ("memory_mib", shape.memory_mib, queue.max_memory_mib, "MiB of memory"),
    )
    for field, asked, most, unit in limits:
        if most is not None and asked > most:
            raise PolicyRejected(
                f"Queue {name!r} gives {most} {unit} at most; {asked} are asked for.",
                "Ask for less, or another queue of the node.", queue_name=name, field=field, most=most, asked=asked,
            )  # fmt: skip
