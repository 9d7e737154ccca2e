"""A run on one page: how it stands, why, its graph, what happened last (design 06, UI)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenure.engine.caller import Caller
from tenure.flow.engine.reading import RunSnapshot, explain_read, inspect_read, read
from tenure.flow.engine.timeline import Moment, timeline
from tenure.flow.model.graph import graph
from tenure.model.visibility import Reason
from tenure.store.operation import Op

#: So many subjects are asked why they wait: it is looked at again and again, and each takes several statements.
_ASKED = 3


@dataclass(frozen=True, slots=True)
class RunOverview:
    """What one look at a run shows; ``moments`` are the last ones, in order."""

    snapshot: RunSnapshot
    reasons: Sequence[Reason]
    graph: Mapping[str, Any]
    moments: Sequence[Moment]


def overview(caller: Caller, run: int, moments: int) -> Op[RunOverview]:
    """One run, folded once, with as many moments, items of a map and children at most; ``RunUnknown``, ``JournalCorrupt``."""
    moving = yield from read(caller, run)
    return RunOverview(
        snapshot=(yield from inspect_read(caller, moving, moments)), reasons=(yield from explain_read(caller, moving, _ASKED)),
        graph=graph(moving.definition, moving.state),
        moments=(yield from timeline(caller, run, after_seq=max(0, moving.row.seq - moments))),
    )  # fmt: skip
