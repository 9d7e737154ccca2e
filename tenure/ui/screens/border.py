"""What crossed the border of a submission, on a screen: its executions, its thread, what was refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenure.model import fact_types as ft
from tenure.model.fact import Fact
from tenure.remote.rows import ExecutionRow, RefusalOf
from tenure.sdk.public_form import public
from tenure.ui import cells
from tenure.wording import border
from tenure.wording.values import refusal_code, shown

EXECUTIONS = [
    {"key": "execution", "label": "Execution", "align": "tight"}, {"key": "state", "label": "State"},
    {"key": "scheduler", "label": "Scheduler's job"}, {"key": "out", "label": "Handed out"},
    {"key": "accepted", "label": "Accepted"}, {"key": "running", "label": "Running"}, {"key": "ended", "label": "Ended"},
    {"key": "output", "label": "Output"},
]  # fmt: skip
REFUSALS = [
    {"key": "at", "label": "When", "align": "tight"}, {"key": "code", "label": "Code"}, {"key": "what", "label": "What"},
    {"key": "by", "label": "By"},
]  # fmt: skip
_WELL = ("succeeded", "completed")


def execution(row: ExecutionRow, result: Mapping[str, Any] | None) -> dict[str, Any]:
    """One execution as a row, with when what happened and where it left what it wrote."""
    this = row.execution
    unwanted = "to be ended by the node" if not this.wanted and not this.ended else None
    detail = ", ".join(part for part in (row.status_detail, unwanted) if part)
    where = ", ".join(f"{name} {value}" for name, value in (("partition", this.partition), ("QOS", this.qos)) if value)
    return {
        "key": str(this.number), "name": f"execution {this.number}",
        "cells": [
            cells.text(f"{this.number}", sub=this.execution_id),
            cells.state(this.state if this.state is not None else "handed out", sub=shown(detail) if detail else None),
            cells.mono(this.slurm_job_id, sub=where or None) if this.slurm_job_id else cells.text(None, tone="quiet"),
            cells.since(row.handed_out_at), cells.since(row.accepted_at), cells.since(row.running_at),
            cells.since(row.ended_at),
            cells.mono(result["output_uri"]) if result is not None else cells.text(None, tone="quiet"),
        ],
    }  # fmt: skip


def timeline(facts: Sequence[Fact]) -> list[dict[str, Any]]:
    """The facts of a submission's thread, newest first, each with the signal that it stands for to unfold."""
    return [_entry(fact) for fact in reversed(facts)]


def _entry(fact: Fact) -> dict[str, Any]:
    data = fact.data or {}
    told = str(data.get("state") or data.get("projection_state") or "")
    what = border.sentence(fact.type, data)
    ref, error = data.get("scheduler_ref") or {}, data.get("error") or {}
    job = f", job {ref['slurm_job_id']}" if ref.get("slurm_job_id") else ""
    return {
        "key": f"{fact.seq}", "seq": fact.seq, "type": border.kind(fact.type), "state": cells.state(told) if told else None,
        "what": shown(_without(what, told) + job), "by": shown(fact.actor), "at": cells.since(fact.at), "tone": _tone(fact, told),
        "error": shown(f"{error.get('code', '')}: {error.get('message', '')}") if error else None,
        "more": public(dict(data)) or None,
    }  # fmt: skip


def _without(what: str, told: str) -> str:
    """The sentence without the state, which stands before it in its colour."""
    return what.removeprefix(f"{told}: ").replace(f" {told}", "", 1) if told else what


def _tone(fact: Fact, told: str) -> str | None:
    if told in _WELL:
        return "done"
    kept = fact.type == ft.EVENT_RECEIVED and not (fact.data or {}).get("applied")
    return "alert" if told == "failed" or kept else None


def refusal(each: RefusalOf) -> dict[str, Any]:
    """Something that was refused, or asked again, as a row."""
    refused = each.row.refused
    return {
        "key": str(each.uid), "name": refused.code,
        "cells": [
            cells.since(each.row.at), cells.mono(refusal_code(refused.code)), cells.text(refused.message),
            cells.text(refused.actor),
        ],
    }  # fmt: skip
