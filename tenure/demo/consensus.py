"""Finds the most likely labels: by majority vote, and by the EM algorithm of Dawid and Skene (1979)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log

from tenure.demo.judgments import Judgments

_SMALLEST = 1e-12  # keeps the logarithm of what never happened finite


@dataclass(frozen=True, slots=True)
class Consensus:
    """What EM found. ``error_rates[worker][true][given]`` is how often a worker gives a label to what is another.

    ``change`` is the largest change of a probability in the last round.
    """

    posteriors: Mapping[str, Mapping[str, float]]
    marginals: Mapping[str, float]
    error_rates: Mapping[str, Mapping[str, Mapping[str, float]]]
    rounds: int
    change: float

    @property
    def labels(self) -> dict[str, str]:
        """The most likely label of each item; of equally likely ones the first."""
        return {item: max(sorted(p), key=lambda label: p[label]) for item, p in self.posteriors.items()}


def majority_vote(judgments: Judgments) -> dict[str, str]:
    """The label that most workers gave, for each item; of equally frequent ones the first."""
    return {item: max(sorted(votes), key=lambda label: votes[label]) for item, votes in _votes(judgments).items()}


def dawid_skene(judgments: Judgments, *, rounds: int = 500, tolerance: float = 1e-7) -> Consensus:
    """Estimate labels and every worker's error rates together, starting from the shares of the votes.

    Stops after ``rounds``, or once no probability changes by more than ``tolerance``.
    """
    labels = judgments.labels
    posteriors = {item: {k: votes[k] / votes.total() for k in labels} for item, votes in _votes(judgments).items()}
    marginals: dict[str, float] = {}
    rates: dict[str, dict[str, dict[str, float]]] = {}
    change, done = 1.0, 0
    while change > tolerance and done < rounds:
        marginals = {k: sum(p[k] for p in posteriors.values()) / len(posteriors) for k in labels}
        rates = _error_rates(judgments, labels, posteriors)
        fresh = _posteriors(judgments, labels, marginals, rates)
        change = max(abs(fresh[item][k] - posteriors[item][k]) for item in fresh for k in labels)
        posteriors, done = fresh, done + 1
    return Consensus(posteriors, marginals, rates, done, change)


def accuracy(found: Mapping[str, str], gold: Mapping[str, str]) -> float | None:
    """The share of the items with a known right label that got it; None where none is known."""
    if not gold:
        return None
    return sum(found.get(item) == label for item, label in gold.items()) / len(gold)


def _votes(judgments: Judgments) -> dict[str, Counter[str]]:
    votes: dict[str, Counter[str]] = {}
    for item, _, label in judgments.given:
        votes.setdefault(item, Counter())[label] += 1
    return votes


def _error_rates(
    judgments: Judgments, labels: list[str], posteriors: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, dict[str, float]]]:
    weight = {worker: {true: dict.fromkeys(labels, 0.0) for true in labels} for worker in judgments.workers}
    for item, worker, given in judgments.given:
        for true in labels:
            weight[worker][true][given] += posteriors[item][true]
    return {
        worker: {true: _shares(row) for true, row in matrix.items()} for worker, matrix in weight.items()
    }  # fmt: skip


def _shares(row: Mapping[str, float]) -> dict[str, float]:
    total = sum(row.values())
    return {label: value / total if total else 0.0 for label, value in row.items()}


def _posteriors(
    judgments: Judgments, labels: list[str], marginals: Mapping[str, float],
    rates: Mapping[str, Mapping[str, Mapping[str, float]]],
) -> dict[str, dict[str, float]]:  # fmt: skip
    logs = {
        worker: {given: [log(max(matrix[true][given], _SMALLEST)) for true in labels] for given in labels}
        for worker, matrix in rates.items()
    }  # fmt: skip
    prior = [log(max(marginals[k], _SMALLEST)) for k in labels]
    sums = {item: list(prior) for item in judgments.items}
    for item, worker, given in judgments.given:
        own = sums[item]
        for index, value in enumerate(logs[worker][given]):
            own[index] += value
    found = {}
    for item, values in sums.items():
        highest = max(values)
        odds = [exp(value - highest) for value in values]
        total = sum(odds)
        found[item] = {label: odd / total for label, odd in zip(labels, odds, strict=True)}
    return found
