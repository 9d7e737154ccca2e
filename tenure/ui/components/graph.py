"""A workflow or a run as a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tenure.flow.model.picture import picture
from tenure.ui.components.component import Component


class Graph(Component, component="graph.js"):
    """A workflow or a run as a graph; a step can be chosen."""

    def draw(self, graph: Mapping[str, Any], chosen: str | None) -> None:
        """Show a graph, as ``tenure.flow.model.graph`` gives it, with one of its steps chosen."""
        self.show(picture=asdict(picture(graph)), chosen=chosen)
