"""Everything that a store knows of a tenant, as plain data that two stores, or two moments, can be compared by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any

from pydantic import BaseModel

from tenure.model.errors import TenureError
from tenure.model.euid import parse_euid
from tenure.model.result import ActionResult
from tenure.testing.store_contract.bench import Bench

_UIDS = frozenset(
    {
        "uid", "subject", "lease", "worker", "thread", "attempt", "last_record", "parent", "child", "hold", "dead_letter",
        "record", "ended", "outputs", "tenant", "template_uid",
    }
)  # fmt: skip
#: Hashes cover uids, positions count all tenants; both differ between stores that tell the same story.
_SKIPPED = frozenset({"head", "hash", "payload_hash", "trace_id"})
_EUID = re.compile(r"^([A-Z]X)-[0-9A-Z]{2,15}$")


class Names:
    """Gives each uid a number in order of first appearance, so that stores that draw other uids can be compared."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}

    def of(self, uid: int) -> str:
        """The name of a uid; a record's follows from its attempt's."""
        number = self._known.setdefault(uid & ~1, len(self._known) + 1)
        return f"#{number}{'r' if uid & 1 else ''}"


def plain(value: Any, names: Names, field: str = "") -> Any:
    """``value`` as text, numbers, lists and dicts, with uids renamed."""
    if value is None or value is True or value is False:
        return value is not None if field in _SKIPPED else value
    if field in _SKIPPED:
        return True
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, int):
        return names.of(value) if field in _UIDS else value
    if isinstance(value, str):
        match = _EUID.match(value)
        return f"{match[1]}{names.of(parse_euid(value))}" if match else value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, TenureError):
        return {"error": value.code}
    if isinstance(value, ActionResult):
        return plain(value.as_dict(), names) | {"replayed": value.replayed}
    return _compound(value, names, field)


@cache
def _parts(kind: type) -> tuple[str, ...] | None:
    """The names of the fields of a model or a dataclass; None for any other type."""
    if issubclass(kind, BaseModel):
        return tuple(kind.model_fields)
    if is_dataclass(kind):
        return tuple(f.name for f in fields(kind) if f.compare)
    return None


def _compound(value: Any, names: Names, field: str) -> Any:
    kind: type = type(value)
    parts = _parts(kind)
    if parts is not None:
        return {name: plain(getattr(value, name), names, name) for name in parts}
    if isinstance(value, Mapping):
        if value and all(isinstance(key, int) for key in value):
            return [[names.of(key), plain(inner, names)] for key, inner in sorted(value.items())]
        return {key: plain(inner, names, str(key)) for key, inner in sorted(value.items())}
    if isinstance(value, frozenset):
        # The only set of a thread is that of its outputs: pairs of a record and a subject.
        return sorted([names.of(record), names.of(output)] for record, output in value)
    if isinstance(value, Iterable):
        return [plain(inner, names, field) for inner in value]
    return value


def state_of(bench: Bench, names: Names | None = None, closely: Sequence[int] | None = None) -> dict[str, Any]:
    """The full state of the bench's tenant, but for what was refused (``refusals_of``).

    ``closely`` limits what is asked subject by subject (why, lineage, data tier) to those indexes.
    """
    names = names if names is not None else Names()
    store, tenant = bench.store, bench.tenant
    uids = bench.run(store.subjects_after(tenant, 0, 100_000, None))
    evidence = bench.run(store.evidence(uids)) if uids else []
    queues = sorted(bench.run(store.queues(tenant)).values(), key=lambda queue: queue.queue_key)
    keys = [queue.queue_key for queue in queues]
    looked_at = _chosen(uids, closely)
    return {
        "threads": [[plain(thread, names), plain(facts, names)] for thread, facts in evidence],
        "subjects": [plain(bench.run(store.subject(tenant, uid)), names) for uid in looked_at],
        "why": [plain([reason.as_dict() for reason in bench.why(uid)], names) for uid in looked_at],
        "lineage": [sorted(map(str, plain(bench.lineage(uid), names))) for uid in looked_at],
        "queues": plain(queues, names),
        "workers": plain(bench.run(store.workers(tenant)), names),
        "owners": [[names.of(uid), length] for uid, length, _ in bench.run(store.owners_after(tenant, 0, 100_000))],
        "items": {key: plain(bench.queue_items(key, limit=10_000), names) for key in keys},
        "counts": [_steady(plain(counts, names)) for counts in bench.metrics(keys)],
        "leases": plain(bench.leases(None, limit=10_000), names),
        "live": plain(bench.leases(limit=10_000), names),
        "holds": plain(bench.holds(active_only=False, limit=10_000), names),
        "dead_letters": plain(bench.dead_letters(open_only=False, limit=10_000), names),
    }


def _chosen(uids: Sequence[int], closely: Sequence[int] | None) -> list[int]:
    return list(uids) if closely is None else [uids[index] for index in closely if index < len(uids)]


def _steady(counts: dict[str, Any]) -> dict[str, Any]:
    """Without the two counts of refusals, which tell of requests and not of state."""
    return {
        key: value for key, value in counts.items() if key not in ("claim_conflict_total", "idempotent_replay_total")
    }


def refusals_of(bench: Bench, names: Names | None = None, closely: Sequence[int] | None = None) -> list[Any]:
    """What was refused on each subject, in order, and how often each queue counts it."""
    names = names if names is not None else Names()
    uids = _chosen(bench.run(bench.store.subjects_after(bench.tenant, 0, 100_000, None)), closely)
    told = [
        [
            row.refused.code,
            row.refused.action,
            plain(row.refused.subject, names, "uid"),
            plain(row.refused.lease, names, "uid"),
        ]
        for uid in uids
        for row in bench.history(uid).refusals
    ]
    counted = [[c.queue_key, c.claim_conflict_total, c.idempotent_replay_total] for c in bench.metrics()]
    return [told, counted]
