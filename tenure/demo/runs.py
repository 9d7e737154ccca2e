"""The acts of the demonstration that are about workflows: two orders, and a survey of all data sets."""

from __future__ import annotations

from tenure.demo import orders, survey
from tenure.demo.narrator import Narrator
from tenure.demo.stage import Stage
from tenure.flow.model.state_parts import RunStatus

GOOD_ORDER, BAD_ORDER, SURVEY = "order 7001", "order 7002", "survey"
PARCEL = f"deliver of {GOOD_ORDER}"
_ORDERS = {GOOD_ORDER: ("ink", 2), BAD_ORDER: ("ink", 2000)}


def start_orders(stage: Stage, narrator: Narrator) -> dict[str, int]:
    """Two orders come in, both go as far as they can without a person; the runs by name."""
    narrator.act(
        "8. Two orders: a workflow with an approval, a run within a run, and steps that can be undone",
        "The workers brought the workflows along. Both orders reserve goods and money, then they wait for Olga.",
    )
    runs = {}
    for name, (item, count) in _ORDERS.items():
        key = name.replace(" ", "-")
        value = {"order": key, "item": item, "count": count, "folder": str(stage.shop)}
        runs[name] = narrator.follow_run(stage.client.start_run(orders.ORDER, value, key=key).run, name)
    narrator.until(
        "both orders wait for an approval", lambda: all(_status(stage, r) == RunStatus.PAUSED for r in runs.values())
    )
    reasons = [reason.message for reason in stage.client.explain_run(runs[BAD_ORDER]) if reason.blocking]
    narrator.say(f"{BAD_ORDER:<22}  waits: {' '.join(reasons)}")
    return runs


def decide_orders(stage: Stage, narrator: Narrator, runs: dict[str, int]) -> None:
    """One is approved and goes through, the other is rejected and is undone."""
    stage.approver.approve(runs[GOOD_ORDER], comment="a customer of old")
    stage.approver.reject(runs[BAD_ORDER], comment="nobody needs 2000 bottles of ink")
    narrator.until("both orders have come to their end", lambda: all(_ended(stage, run) for run in runs.values()))
    for name in _ORDERS:
        left = orders.papers(stage.shop, name.replace(" ", "-"))
        narrator.say(f"{name:<22}  in the shop: {', '.join(left) or 'nothing is left of it'}")


def take_survey(stage: Stage, narrator: Narrator, datasets: tuple[str, ...]) -> int:
    """Measure all data sets side by side and write one report; the run."""
    narrator.act(
        "9. A survey of all data sets: the same step for each file, then one that writes the report",
        "The report starts when the last measurement has come in, whoever made it.",
    )
    value = {"datasets": list(datasets), "folder": str(stage.folder / "artifacts")}
    run = narrator.follow_run(stage.client.start_run(survey.SURVEY, value, key="survey").run, SURVEY)
    narrator.until("the report is written", lambda: _ended(stage, run))
    return run


def _status(stage: Stage, run: int) -> str:
    return stage.client.inspect_run(run).run.status


def _ended(stage: Stage, run: int) -> bool:
    return stage.client.inspect_run(run).run.ended_at is not None
