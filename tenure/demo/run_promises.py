"""What the demonstration promises of its workflows, checked afterwards in facts, rows and files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from tenure.demo import artifacts, orders
from tenure.demo.published import published_accuracy
from tenure.demo.runs import BAD_ORDER, GOOD_ORDER, PARCEL, SURVEY
from tenure.demo.stage import APPROVER
from tenure.flow.model.state_parts import RunStatus
from tenure.model.states import RecordStatus
from tenure.sdk.client import Tenure


def checked(client: Tenure, runs: Mapping[str, int], shop: Path) -> Iterator[tuple[str, object]]:
    """Each promise and whether it was kept."""
    shown = {name: client.inspect_run(uid) for name, uid in runs.items()}
    ended = {name: steps_ended(client, uid) for name, uid in runs.items()}
    yield (
        f"{GOOD_ORDER} went through all its steps, each once, and so did its delivery, a run of its own",
        shown[GOOD_ORDER].run.status == shown[PARCEL].run.status == RunStatus.COMPLETED
        and ended[GOOD_ORDER] == [(step, "ok") for step in orders.GOOD]
        and ended[PARCEL] == [("pack", "ok"), ("hand_over", "ok")]
        and shown[PARCEL].run.parent_run == runs[GOOD_ORDER]
        and orders.papers(shop, _key(GOOD_ORDER)) == ["invoice", "parcel", "payment", "reservation", "waybill"],
    )
    yield (
        f"{BAD_ORDER} was rejected, and what it had done was undone, the last first: nothing is left of it",
        shown[BAD_ORDER].run.status == RunStatus.FAILED
        and ended[BAD_ORDER]
        == [("reserve", "ok"), ("authorize", "ok"), ("check", "error"), *((step, "ok") for step in orders.UNDONE)]
        and not orders.papers(shop, _key(BAD_ORDER)),
    )
    deciders = {
        m.actor for name in (GOOD_ORDER, BAD_ORDER) for m in client.run_timeline(runs[name]) if m.type == _RESOLVED
    }
    yield "Olga decided on both orders, and her name is on it", deciders == {APPROVER}
    subjects = [subject for each in shown.values() for step in each.steps for subject in step.subjects]
    yield (
        "no step of a run succeeded twice, whoever did it",
        subjects
        and all(
            [a.attempt.record_status for a in client.history(s.subject).attempts].count(RecordStatus.SUCCEEDED) == 1
            for s in subjects
        ),
    )
    yield "the survey's report has every data set once, right by what was published", _right(shown[SURVEY].run.output)


def steps_ended(client: Tenure, run: int) -> list[tuple[str, str]]:
    """The steps of a run in the order in which they ended, each with how."""
    ends = []
    for moment in client.run_timeline(run):
        if moment.type == "run.runnable_applied" and moment.data.get("outcome"):
            ends.append((str(moment.step), str(moment.data["outcome"])))
        elif moment.type == _RESOLVED:
            ends.append((str(moment.step), "ok" if moment.data["decision"] == "approved" else "error"))
    return ends


_RESOLVED = "run.step_resolved"


def _right(told: Mapping[str, str] | None) -> bool:
    report = artifacts.read(told["path"], told["sha256"]) if told else None
    if report is None:
        return False
    rows = {row["dataset"]: row for row in report["rows"]}
    known = {name: published_accuracy(name) for name in rows}
    return (
        len(rows) == len(report["rows"]) == 4
        and all(row["within"] for row in rows.values())
        and all(abs(rows[name]["found"] - value) <= rows[name]["tolerance"] for name, value in known.items() if value)
    )


def _key(name: str) -> str:
    return name.replace(" ", "-")
