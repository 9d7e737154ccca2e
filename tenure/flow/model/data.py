"""The data that a decision reads: given by reference, asked for where it is not there yet.

Inputs and results are in the data tier. A decision that needs some raises ``DataNeeded`` with all references it lacks at
that point; whoever drives it loads them, for many runs at once, and decides again. Decisions are pure, so nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tenure.flow.model.mapping import evaluate, paths_in
from tenure.flow.model.paths import MISSING, Path, walk
from tenure.flow.model.state import Output, RunState
from tenure.model.json_text import instant

#: The reference of the run's own input.
INPUT = "input"
EVENT = "event"


class DataNeeded(Exception):
    """These references must be loaded first; no error, but a question."""

    def __init__(self, refs: Iterable[str]) -> None:
        self.refs = frozenset(refs)
        super().__init__(f"needs {', '.join(sorted(self.refs))}")


@dataclass(frozen=True, slots=True)
class Scope:
    """What paths find: the state of the run, the data by reference, and what is known at this place alone.

    ``own`` holds outputs that the state does not have yet, or has no more.
    """

    state: RunState
    values: Mapping[str, Any]
    own: Mapping[str, Output] = field(default_factory=dict)
    item: Any = MISSING
    index: Any = MISSING

    def require(self, *mappings: Any) -> None:
        """Raise ``DataNeeded`` unless everything that the mappings may read is there."""
        refs = {ref for mapping in mappings for _, path in paths_in(mapping) if (ref := self._ref(path)) is not None}
        if missing := refs - self.values.keys():
            raise DataNeeded(missing)

    def evaluate(self, mapping: Any, place: str = "input") -> Any:
        """The mapping with its paths replaced; ``DataNeeded`` or ``MappingFailed``."""
        self.require(mapping)
        return evaluate(mapping, self, place)

    def __call__(self, path: Path) -> Any:
        """What the path finds, or ``MISSING``."""
        if path.root == "item":
            return walk(self.item, path.parts)
        if path.root == "index":
            return self.index
        if path.root == "run":
            return self._run(path.key)
        if path.root == "errors":
            return walk(self._error(path.key), path.parts[1:])
        if path.root in ("outputs", "previous"):
            output = self._output(path)
            if output is None:
                return MISSING
            value = self.values[output.ref] if output.ref is not None else output.value
            return walk(value, path.parts[1:])
        return walk(self.values.get(path.root, MISSING), path.parts)

    def _ref(self, path: Path) -> str | None:
        if path.root in (INPUT, EVENT):
            return path.root
        output = self._output(path) if path.root in ("outputs", "previous") else None
        return output.ref if output is not None else None

    def _output(self, path: Path) -> Output | None:
        if path.root == "previous":
            return self.state.previous.get(path.key)
        return self.own.get(path.key) or self.state.outputs.get(path.key)

    def _error(self, name: str) -> Any:
        error = self.state.step(name).error
        if error is None:
            return MISSING
        return {"code": error.code, "class": error.error_class, "message": error.message}

    def _run(self, name: str) -> Any:
        started = self.state.started_at
        return {
            "key": self.state.key, "workflow": self.state.workflow, "version": self.state.version,
            "started_at": instant(started) if started else None,
        }.get(name, MISSING)  # fmt: skip
