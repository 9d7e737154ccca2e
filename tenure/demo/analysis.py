"""The analysis that the demonstration runs: consensus labels of a data set, how good they are, and how sure that is."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tenure.demo.consensus import accuracy, dawid_skene, majority_vote
from tenure.demo.judgments import Judgment, Judgments

_RESAMPLES = 20
_SEED = 1979


def analyse(
    dataset: str, judgments: Judgments, *, going_on: Callable[[], bool] = lambda: True
) -> dict[str, Any] | None:
    """Everything that the artifact holds; the same for the same input. None where ``going_on`` said no on the way."""
    votes = majority_vote(judgments)
    found = dawid_skene(judgments)
    measured = accuracy(found.labels, judgments.gold)
    interval = None
    if measured is not None:
        interval = _interval(judgments, going_on)
        if interval is None:
            return None
    return {
        "dataset": dataset, "judgments": len(judgments.given), "items": len(votes), "workers": len(judgments.workers),
        "accuracy": {"majority_vote": accuracy(votes, judgments.gold), "dawid_skene": measured, "interval_90": interval},
        "rounds": found.rounds,
        "marginals": {label: round(share, 9) for label, share in found.marginals.items()},
        "error_rates": {
            worker: {true: {given: round(rate, 9) for given, rate in row.items()} for true, row in matrix.items()}
            for worker, matrix in found.error_rates.items()
        },
        "labels": found.labels,
    }  # fmt: skip


def _interval(judgments: Judgments, going_on: Callable[[], bool]) -> list[float] | None:
    """The middle 90 % of the accuracy when the items are drawn again with replacement (bootstrap)."""
    draw = random.Random(_SEED)  # noqa: S311  # nosec B311 - a resample that anybody can repeat
    of_item: dict[str, list[Judgment]] = {}
    for judgment in judgments.given:
        of_item.setdefault(judgment.item, []).append(judgment)
    items, values = list(of_item), []
    for _ in range(_RESAMPLES):
        if not going_on():
            return None
        again = Judgments()
        for number, item in enumerate(draw.choices(items, k=len(items))):
            again.given += [Judgment(str(number), worker, label) for _, worker, label in of_item[item]]
            again.gold[str(number)] = judgments.gold[item]
        values.append(accuracy(dawid_skene(again, tolerance=0.05).labels, again.gold) or 0.0)
    values.sort()
    return [round(values[round(_RESAMPLES * 0.05)], 6), round(values[round(_RESAMPLES * 0.95) - 1], 6)]
