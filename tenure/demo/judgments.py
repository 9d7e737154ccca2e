"""Reads a file of crowd judgments: who gave which item which label, and, where it is known, the right one."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

_COLUMNS = ["task", "worker", "label", "gold"]


class MalformedJudgments(ValueError):
    """The file is not what it should be; the message names the line."""


class Judgment(NamedTuple):
    """One label that one worker gave to one item."""

    item: str
    worker: str
    label: str


@dataclass(slots=True)
class Judgments:
    """All judgments of a data set in the order of the file. ``gold`` holds the right label of those items that have one."""

    given: list[Judgment] = field(default_factory=list)
    gold: dict[str, str] = field(default_factory=dict)

    @property
    def items(self) -> list[str]:
        """The items, in order of first appearance."""
        return list(dict.fromkeys(judgment.item for judgment in self.given))

    @property
    def workers(self) -> list[str]:
        """The workers, in order of first appearance."""
        return list(dict.fromkeys(judgment.worker for judgment in self.given))

    @property
    def labels(self) -> list[str]:
        """The labels that were given, sorted."""
        return sorted({judgment.label for judgment in self.given})


def read_judgments(text: str) -> Judgments:
    """The judgments in a CSV text with the columns task, worker, label, gold. Raises MalformedJudgments."""
    found = Judgments()
    for number, (item, worker, label, gold) in _rows(text):
        if not (item and worker and label):
            raise MalformedJudgments(f"line {number}: task, worker and label must all be given")
        if gold and found.gold.setdefault(item, gold) != gold:
            raise MalformedJudgments(f"line {number}: item {item} has two right labels, {found.gold[item]} and {gold}")
        found.given.append(Judgment(item, worker, label))
    if not found.given:
        raise MalformedJudgments("the file holds no judgments")
    return found


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text))
    header = next(reader, [])
    if header != _COLUMNS:
        raise MalformedJudgments(
            f"line 1: the columns must be {', '.join(_COLUMNS)}, not {', '.join(header) or 'none'}"
        )
    for row in reader:
        if len(row) != len(_COLUMNS):
            raise MalformedJudgments(f"line {reader.line_num}: {len(row)} fields where {len(_COLUMNS)} are needed")
        yield reader.line_num, row
