"""Plans as PostgreSQL executed them: what was scanned, by which index, how many rows and pages it took."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

#: The tables that grow with the work; the others (queue, worker, template) are few rows.
DEEP = frozenset({"subject", "execution", "attempt", "fact"})
_ROWS = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")


@dataclass(frozen=True)
class Plan:
    """One executed statement, from EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) or from auto_explain."""

    query: str
    root: dict[str, Any]

    @classmethod
    def of(cls, document: str) -> Plan:
        """From JSON text."""
        parsed = json.loads(document)
        parsed = parsed[0] if isinstance(parsed, list) else parsed
        return cls(parsed.get("Query Text", ""), parsed["Plan"])

    def nodes(self) -> list[dict[str, Any]]:
        """All nodes of the tree, sub-plans and CTEs among them."""
        return list(_below(self.root))

    def scans(self, tables: Collection[str] = DEEP) -> list[dict[str, Any]]:
        """The nodes that read these tables and were executed."""
        return [n for n in self.nodes() if n.get("Relation Name") in tables and "Scan" in n["Node Type"] and _loops(n)]

    def rows_read(self, tables: Collection[str] = DEEP) -> float:
        """Rows that the scans of these tables gave or threw away."""
        return sum(_loops(node) * sum(node.get(kind, 0) for kind in _ROWS) for node in self.scans(tables))

    @property
    def buffers(self) -> int:
        """Pages touched by the statement itself; its triggers are statements of their own."""
        return sum(int(self.root.get(f"Shared {kind} Blocks", 0)) for kind in ("Hit", "Read"))

    def indexes(self, table: str) -> set[str]:
        """The indexes by which ``table`` was read."""
        return {n["Index Name"] for n in self.scans() if n["Relation Name"] == table and "Index Name" in n}

    def misdeeds(self) -> list[str]:
        """What no plan of ours may do: read a deep table whole, or join one in any way but by looking up keys."""
        found = [f"Seq Scan on {n['Relation Name']}" for n in self.scans() if n["Node Type"] == "Seq Scan"]
        found += [
            f"whole index {n['Index Name']} of {n['Relation Name']}" for n in self.scans()
            if n["Node Type"].startswith("Index") and "Index Cond" not in n
        ]  # fmt: skip
        for node in self.nodes():
            if node["Node Type"] in ("Hash Join", "Merge Join"):
                tables = sorted({n["Relation Name"] for n in _below(node) if n.get("Relation Name") in DEEP})
                found += [f"{node['Node Type']} over {', '.join(tables)}"] if tables else []
            if node.get("Parent Relationship") == "SubPlan" and "hashed" in node.get("Subplan Name", ""):
                found.append(node["Subplan Name"])
        return found


def _below(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _below(child)


def _loops(node: dict[str, Any]) -> int:
    return int(node.get("Actual Loops", 0))
