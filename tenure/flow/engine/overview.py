"""A run on one page: how it stands, why, its graph, what happened last (design 06, UI)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
class RunPages:
    """Which part of a run's long lists is looked at: by default the newest moments, and the first items and children."""

    moments_before: int | None = None
    """Only moments below this seq."""
    items_skipped: Mapping[str, int] = field(default_factory=dict)
    """By step, how many items come before."""
    children_after: int = 0
    """Only children above this uid."""


@dataclass(frozen=True, slots=True)
class RunOverview:
    """What one look at a run shows; ``moments`` are the last ones of the page, in order."""

    snapshot: RunSnapshot
    reasons: Sequence[Reason]
    graph: Mapping[str, Any]
    moments: Sequence[Moment]


def overview(caller: Caller, run: int, most: int, pages: RunPages) -> Op[RunOverview]:
    """One run, folded once, with at most so many moments, items of each map and children; ``RunUnknown``, ``JournalCorrupt``."""
    moving = yield from read(caller, run)
    top = pages.moments_before - 1 if pages.moments_before is not None else moving.row.seq
    first = max(0, top - most)
    return RunOverview(
        snapshot=(
            yield from inspect_read(caller, moving, most, skip=pages.items_skipped, after=pages.children_after)
        ),
        reasons=(yield from explain_read(caller, moving, _ASKED)), graph=graph(moving.definition, moving.state),
        moments=(yield from timeline(caller, run, after_seq=first, limit=max(1, top - first))),
    )  # fmt: skip
