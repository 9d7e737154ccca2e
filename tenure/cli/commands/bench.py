"""``tenure bench``: how fast is it here, beside bare SQL on the same server."""

from __future__ import annotations

from statistics import median
from typing import Annotated

import typer

from tenure.cli.call import call_of
from tenure.cli.connection import database
from tenure.terminal.listing import table

NAME = "bench"
_HONESTLY = (
    "Bare SQL is one table without leases, records or facts: claim 100, complete 100, one connection. Tenure keeps a fenced "
    "lease, an execution record and hash-chained facts for every job. Both ran in turn on this server with its own settings; "
    "medians. A quick look on a machine that does other things too, not a comparison with other products."
)


def run(
    context: typer.Context,
    jobs: Annotated[int, typer.Option("--jobs", min=100, max=1_000_000, help="No-op jobs in each round.")] = 5000,
    rounds: Annotated[int, typer.Option("--rounds", min=1, max=100, help="How often both are measured.")] = 3,
) -> None:
    """Measure this server: bare SQL and Tenure in turn, in a database of their own that is dropped afterwards."""
    # What only this command needs, as a worker is, the others do not wait for.
    from tenure.bench.rounds import measure  # noqa: PLC0415
    from tenure.bench.scratch import scratch_database  # noqa: PLC0415

    call = call_of(context)
    found = database(call.dsn, start=True)
    with call.err.status("preparing") as status, scratch_database(found.dsn) as dsn:
        measured = measure(
            dsn, jobs=jobs, rounds=rounds, singles=min(500, jobs), pings=100, tell=status.update
        )  # fmt: skip
    rows = [(m.name, _number(m.bare), _number(m.tenure), m.unit, f"{m.ratio:.2f}") for m in measured]
    document = {
        "server": found.server, "jobs": jobs, "rounds": rounds,
        "measures": [
            {"name": m.name, "unit": m.unit, "bare": m.bare, "tenure": m.tenure, "ratio": round(m.ratio, 4)} for m in measured
        ],
    }  # fmt: skip
    title = f"PostgreSQL {found.server}, {jobs:,} no-op jobs, {rounds} round(s)"
    call.answer(document, table(["measure", ">bare SQL", ">Tenure", "", ">ratio"], rows, title=title), _HONESTLY)


def _number(values: list[float]) -> str:
    middle = median(values)
    return f"{middle:,.0f}" if middle >= 100 else f"{middle:.1f}"
