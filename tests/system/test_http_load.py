"""A short run of the load benchmark: many workers over HTTP on a real server, and nothing goes wrong."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "bench" / "http_load.py"


def test_fifty_workers_over_http_claim_and_complete_without_a_failure(migrated_database):
    spec = spec_from_file_location("http_load", PROGRAM)
    http_load = module_from_spec(spec)
    sys.modules["http_load"] = http_load  # its dataclass looks itself up
    spec.loader.exec_module(http_load)

    figures = http_load.measure(migrated_database, workers=50, seconds=4, processes=1)

    print(http_load.table(figures))
    assert figures.failed == 0, figures.statuses
    assert {name.rsplit(" ", 1)[1] for name in figures.statuses} <= {"200", "429"}
    assert figures.jobs >= 25
    assert figures.completed == figures.jobs == figures.statuses["complete 200"]
    assert (figures.divergences, figures.verified) == (0, figures.completed + figures.left)
