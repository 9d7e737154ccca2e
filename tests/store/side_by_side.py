"""Two stores given the same orders: every answer and the whole state after it must be the same, but for the uids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tenure.model.errors import TenureError
from tenure.testing.store_contract.dump import Names, plain, refusals_of, state_of
from tests.store.harness import Bench


@dataclass(frozen=True)
class Both:
    """The same thing as each of the two stores knows it."""

    of: tuple[Any, Any]

    def each(self, view: Callable[[Any], Any]) -> Both:
        """What ``view`` makes of it on either side."""
        return Both((view(self.of[0]), view(self.of[1])))

    def parts(self) -> list[Both]:
        """The things in it, where it is a list on both sides."""
        return [Both(pair) for pair in zip(*self.of, strict=True)]


class SideBySide:
    """Performs each order on both stores and compares."""

    def __init__(self, one: Bench, other: Bench, answers: Counter[str] | None = None) -> None:
        self.benches = (one, other)
        self.names = (Names(), Names())
        self.answers: Counter[str] = answers if answers is not None else Counter()
        self._rules: str = ""

    def begins(self, rule: str) -> None:
        """Count what follows under the name of a rule."""
        self._rules = rule
        self.answers[rule] += 0

    def do(self, operation: str, /, *args: Any, **kwargs: Any) -> Both | None:
        """Both answers, or None where both refused for the same reason."""
        answers = []
        for side, bench in enumerate(self.benches):
            try:
                mine, named = _mine(args, side), _mine(kwargs, side)
                answers.append(getattr(bench, operation)(*mine, **named))
            except TenureError as refused:
                answers.append(refused)
        one, other = (plain(answer, names) for answer, names in zip(answers, self.names, strict=True))
        assert one == other, f"{operation} is answered differently:\n  {one}\n  {other}\n  ({answers})"
        if isinstance(answers[0], TenureError):
            self.answers[f"{self._rules}: {answers[0].code}"] += 1
            return None
        self.answers[self._rules] += 1
        return Both((answers[0], answers[1]))

    def later(self, seconds: float) -> None:
        """Move both clocks."""
        self.answers[self._rules] += 1
        for bench in self.benches:
            bench.later(seconds)

    def compare(self, closely: Sequence[int] | None = None) -> None:
        """Fail where the states differ, naming the first difference; ``closely`` as in ``state_of``."""
        sides = list(zip(self.benches, self.names, strict=True))
        one, other = (state_of(bench, names, closely) for bench, names in sides)
        assert one == other, first_difference(one, other, "state")
        mine, its = (refusals_of(bench, names, closely) for bench, names in sides)
        assert mine == its, first_difference(mine, its, "refusals")

    def verify(self) -> None:
        """Fail where either store's facts and rows tell different stories."""
        for bench in self.benches:
            report = bench.verify()
            assert report.first == {}, f"{bench.name}: {report.first}"


def first_difference(one: Any, other: Any, where: str) -> str:
    """The path to the first place where two plain values differ, with both values."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            if one[key] != other[key]:
                return first_difference(one[key], other[key], f"{where}.{key}")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (mine, its) in enumerate(zip(one, other, strict=True)):
            if mine != its:
                return first_difference(mine, its, f"{where}[{index}]")
    return f"{where} differs:\n  {one}\n  {other}"


def _mine(value: Any, side: int) -> Any:
    if isinstance(value, Both):
        return value.of[side]
    if isinstance(value, dict):
        return {key: _mine(inner, side) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_mine(inner, side) for inner in value)
    return value
