"""A survey of all data sets as a workflow: a map over the files, and a join that writes one report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tenure import Tenure
from tenure.demo import artifacts
from tenure.demo.consensus import accuracy, dawid_skene, majority_vote
from tenure.demo.judgments import read_judgments
from tenure.demo.published import compared, data_file

SURVEY = "survey"
FILES = "survey_files"


def join(app: Tenure) -> None:
    """Tell a client of the workflow and of the tasks that do its steps."""
    (
        app.workflow(SURVEY, queue=FILES, output="$.outputs.report")
        .map("each", "$.input.datasets", action="survey.measure", input={"dataset": "$.item"})
        .task("report", action="survey.report", after="each",
              input={"rows": "$.outputs.each", "folder": "$.input.folder"})
    )  # fmt: skip
    app.task(queue=FILES, key="survey.measure")(measure)
    app.task(queue=FILES, key="survey.report")(report)


def measure(dataset: str) -> dict[str, Any]:
    """The consensus of one data set, beside what was published of it."""
    judgments = read_judgments(data_file(f"{dataset}.csv"))
    found = dawid_skene(judgments)
    rates = {"error_rates": found.error_rates} if not judgments.gold else {}
    measured = {
        "majority_vote": accuracy(majority_vote(judgments), judgments.gold),
        "dawid_skene": accuracy(found.labels, judgments.gold),
    }
    verdict = compared(dataset, {"accuracy": measured, **rates})
    return {
        "dataset": dataset,
        "judgments": len(judgments.given),
        "majority_vote": measured["majority_vote"],
        **verdict,
    }


def report(rows: Sequence[Mapping[str, Any]], folder: str) -> dict[str, Any]:
    """Join: all measurements in one file, in the order in which the files were named."""
    content = {"rows": [dict(row) for row in rows], "within": all(row["within"] for row in rows)}
    path, sha256 = artifacts.keep(Path(folder), SURVEY, content)
    return {"path": str(path), "sha256": sha256, "bytes": path.stat().st_size, "datasets": len(rows)}
