"""The lineage of a subject as a graph: parents to the left, what came of it to the right (S1 section 1.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenure.model import euid
from tenure.model.attempt import attempt_of
from tenure.model.thread import SubjectThread
from tenure.sdk.public_form import edge_ends
from tenure.store.records import Edge
from tenure.ui import places

_KINDS = {
    euid.SUBJECT: "subject", euid.LEASE: "lease", euid.RECORD: "record", euid.QUEUE: "queue", euid.WORKER: "worker",
    euid.HOLD: "hold", euid.DEAD_LETTER: "dead_letter",
}  # fmt: skip
MOST = 24
"""Relatives on each side that are drawn; the command lists all."""


def tree(
    edges: Sequence[Edge], thread: SubjectThread, workers: Mapping[int, str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Nodes and edges to draw."""
    self_name = euid.format_euid(euid.SUBJECT, thread.envelope.uid)
    nodes = {self_name: _node(self_name, 0, thread.envelope.uid, _Known(thread, workers)) | {"self": True}}
    known = _Known(thread, workers)
    drawn = []
    left = right = 0
    for edge in edges:
        parent, child = edge_ends(edge)
        outward = edge.parent == thread.envelope.uid
        left, right = (left, right + 1) if outward else (left + 1, right)
        if (right if outward else left) > MOST:
            continue
        other, uid = (child, edge.child) if outward else (parent, edge.parent)
        nodes.setdefault(other, _node(other, 1 if outward else -1, uid, known))
        drawn.append({"from": parent, "to": child, "label": _relation(edge.relation)})
    return list(nodes.values()), drawn


class _Known:
    """What the thread tells of the things around it."""

    def __init__(self, thread: SubjectThread, workers: Mapping[int, str]) -> None:
        self._workers = workers
        self._notes: dict[int, str] = {
            uid: f"{hold.hold_code}, {hold.status.lower()}" for uid, hold in thread.holds.items()
        }
        self._notes |= {uid: f"{letter.error_class.lower()}" for uid, letter in thread.dead_letters.items()}
        self._attempts = thread.attempts

    def note(self, kind: str, uid: int) -> str:
        """A word on it for the second line."""
        attempt = self._attempts.get(attempt_of(uid)) if kind in ("lease", "record") else None
        if attempt is not None:
            status = attempt.lease_status if kind == "lease" else attempt.record_status
            who = self._workers.get(attempt.worker, "") if attempt.worker is not None else ""
            return f"{kind} · {str(status).lower().replace('_', ' ')}{f' · {who}' if who else ''}"
        return f"{kind.replace('_', ' ')}{f' · {self._notes[uid]}' if uid in self._notes else ''}"


def _node(name: str, column: int, uid: int, known: _Known) -> dict[str, Any]:
    kind = _KINDS.get(name.partition("-")[0], "subject")
    href = places.subject(uid) if kind == "subject" else places.worker(uid) if kind == "worker" else None
    note = known.note(kind, uid)
    return {
        "key": name, "name": name, "sub": note if len(note) <= 24 else f"{note[:23]}…", "column": column, "kind": kind,
        "href": href, "self": False,
    }  # fmt: skip


def _relation(relation: str) -> str:
    # What hangs on the subject itself says what it is; other relations have a name worth reading.
    return "" if relation.startswith("execution_") else relation.replace("_", " ")
