"""What runs on the cluster: the consensus of one data set of the demonstration, compared with what was published.

``python -m tenure.demo.hpc.payload DATASET [TIMES [COPIES]]`` leaves ``report.json`` in ``$TENURE_RESULTS``. It makes the
analysis TIMES times, as work that takes long, with COPIES of the data in memory, as work that takes much.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tenure.demo.analysis import analyse
from tenure.demo.judgments import read_judgments
from tenure.demo.published import compared, data_file


def main(dataset: str, times: int = 1, copies: int = 1) -> int:
    """Analyse; 0 where what was found agrees with what was published, else 3."""
    data = [read_judgments(data_file(f"{dataset}.csv")) for _ in range(copies)]
    report = None
    for _ in range(times):
        report = analyse(dataset, data[-1])
    assert report is not None
    verdict = compared(dataset, report)
    results = Path(os.environ["TENURE_RESULTS"])
    (results / "report.json").write_text(json.dumps({"dataset": dataset, **verdict, **report}), encoding="utf-8")
    sys.stdout.write(f"{dataset}: {verdict['found']} found, {verdict['published']} published\n")
    return 0 if verdict["within"] else 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:4])))
