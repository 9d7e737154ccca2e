"""What was published about the data sets, and how close our own numbers must come (data/README.md)."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

#: Other implementations of EM start elsewhere and stop earlier: a few items of a small data set may differ (2 of 108).
ACCURACY_TOLERANCE = 0.02
#: The table of 1979 has two decimals.
ERROR_RATE_TOLERANCE = 0.005

_DATA = files("tenure.demo") / "data"


def data_file(name: str) -> str:
    """The text of a file that comes along."""
    return (_DATA / name).read_text(encoding="utf-8")


def published_accuracy(dataset: str) -> float | None:
    """The published accuracy of EM on a data set; None where there is none."""
    for row in csv.DictReader(io.StringIO(data_file("published_results.csv"))):
        if row["dataset"] == dataset and (row["metric"], row["method"]) == ("accuracy", "EM"):
            return float(row["value"])
    return None


def compared(dataset: str, report: Mapping[str, Any]) -> dict[str, Any]:
    """Our numbers beside the published ones: what was compared, the difference, and whether it is within tolerance."""
    accuracy = published_accuracy(dataset)
    if accuracy is not None:
        found = float(report["accuracy"]["dawid_skene"])
        return _verdict("accuracy of EM", accuracy, found, abs(found - accuracy), ACCURACY_TOLERANCE)
    rates = report["error_rates"]
    rows = list(csv.DictReader(io.StringIO(data_file("ds1979_expected_error_rates.csv"))))
    worst = max(rows, key=lambda row: abs(_ours(rates, row) - float(row["published"])))
    found, told = _ours(rates, worst), float(worst["published"])
    return _verdict(f"error rates ({len(rows)}), the worst", told, found, abs(found - told), ERROR_RATE_TOLERANCE)


def _ours(rates: Mapping[str, Any], row: Mapping[str, str]) -> float:
    return float(rates[row["observer"]][row["true"]][row["observed"]])


def _verdict(what: str, published: float, found: float, difference: float, tolerance: float) -> dict[str, Any]:
    return {
        "compared": what, "published": published, "found": round(found, 6), "difference": round(difference, 6),
        "tolerance": tolerance, "within": difference <= tolerance,
    }  # fmt: skip
