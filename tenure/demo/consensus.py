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
    votes = _Votes.of(judgments)
    posteriors = votes.shares()
    marginals: list[float] = []
    rates: list[list[list[float]]] = []
    change, done = 1.0, 0
    while change > tolerance and done < rounds:
        marginals = [sum(p[k] for p in posteriors) / len(posteriors) for k in range(len(votes.labels))]
        rates = votes.error_rates(posteriors)
        fresh = votes.posteriors(marginals, rates)
        change = max(
            abs(a - b) for new, old in zip(fresh, posteriors, strict=True) for a, b in zip(new, old, strict=True)
        )
        posteriors, done = fresh, done + 1
    return votes.named(posteriors, marginals, rates, done, change)


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


@dataclass(frozen=True, slots=True)
class _Votes:
    """The judgments as numbers: places in the lists of items, workers and labels, which are quicker than names."""

    items: list[str]
    workers: list[str]
    labels: list[str]
    given: list[tuple[int, int, int]]

    @classmethod
    def of(cls, judgments: Judgments) -> _Votes:
        items, workers, labels = judgments.items, judgments.workers, judgments.labels
        item_at, worker_at, label_at = ({name: n for n, name in enumerate(names)} for names in (items, workers, labels))
        return cls(items, workers, labels, [(item_at[i], worker_at[w], label_at[k]) for i, w, k in judgments.given])

    def shares(self) -> list[list[float]]:
        """For each item the share of the votes that each label got."""
        counts = [[0.0] * len(self.labels) for _ in self.items]
        for item, _, label in self.given:
            counts[item][label] += 1
        return [_shares(row) for row in counts]

    def error_rates(self, posteriors: list[list[float]]) -> list[list[list[float]]]:
        """For each worker and true label, how often the worker gives each label."""
        size = range(len(self.labels))
        weight = [[[0.0] * len(self.labels) for _ in size] for _ in self.workers]
        for item, worker, label in self.given:
            matrix = weight[worker]
            for true, probability in enumerate(posteriors[item]):
                matrix[true][label] += probability
        return [[_shares(row) for row in matrix] for matrix in weight]

    def posteriors(self, marginals: list[float], rates: list[list[list[float]]]) -> list[list[float]]:
        """For each item the probability of each label, given everybody's error rates."""
        size = range(len(self.labels))
        logs = [[[log(max(matrix[true][label], _SMALLEST)) for true in size] for label in size] for matrix in rates]
        prior = [log(max(share, _SMALLEST)) for share in marginals]
        sums = [list(prior) for _ in self.items]
        for item, worker, label in self.given:
            own = sums[item]
            for true, value in enumerate(logs[worker][label]):
                own[true] += value
        return [_shares([exp(value - max(values)) for value in values]) for values in sums]

    def named(
        self,
        posteriors: list[list[float]],
        marginals: list[float],
        rates: list[list[list[float]]],
        rounds: int,
        change: float,
    ) -> Consensus:
        """The outcome under the names of items, workers and labels."""
        return Consensus(
            {item: self._by_label(row) for item, row in zip(self.items, posteriors, strict=True)},
            self._by_label(marginals),
            {
                worker: {true: self._by_label(row) for true, row in zip(self.labels, matrix, strict=True)}
                for worker, matrix in zip(self.workers, rates, strict=True)
            },
            rounds, change,
        )  # fmt: skip

    def _by_label(self, values: list[float]) -> dict[str, float]:
        return dict(zip(self.labels, values, strict=True))


def _shares(row: list[float]) -> list[float]:
    total = sum(row)
    return [value / total if total else 0.0 for value in row]
