"""How the work of runnables ended, as news for their runs."""

from __future__ import annotations

from typing import Any

from tenure.flow.engine.values import record_ref, run_ref
from tenure.flow.model.requests import Ended
from tenure.flow.port import Standing
from tenure.flow.rows import RunRow
from tenure.model import fact_types as ft
from tenure.model.attempt import attempt_of
from tenure.model.decisions.unfolding import Unfolding
from tenure.model.json_text import payload_hash
from tenure.model.states import State

_MESSAGE = 2000


def end_of_subject(unfolding: Unfolding, runnable: str) -> Ended | None:
    """The news of a subject that an action has just ended; None while it has not."""
    env = unfolding.envelope
    record = env.last_record
    details: dict[str, Any] = unfolding.details.get(attempt_of(record), {}) if record is not None else {}
    if env.state is State.COMPLETED:
        result = details.get("result")
        if details.get("result_ref") is not None:
            result = {"result_ref": details["result_ref"]}
        return completed(runnable, record or 0, result)
    if env.state is State.FAILED_TERMINAL:
        told: dict[str, Any] = {}
        for fact in unfolding.facts:
            if fact.type in (ft.FAILED, ft.EXPIRED):
                told = dict(fact.data or {})
        lapsed = {"error_class": "TRANSIENT_SYSTEM", "error_code": "HEARTBEAT_TIMEOUT"}
        told = told if "error_class" in told else lapsed
        return failed(runnable, told["error_class"], told.get("error_code"), details.get("error_message"))
    if env.state is State.CANCELED:
        return Ended(runnable=runnable, outcome="canceled", untouched=record is None)
    return None


def end_of_standing(standing: Standing, result: Any) -> Ended | None:
    """The news of a subject as its row has it."""
    key = standing.runnable.runnable_key
    if standing.state == State.COMPLETED:
        return completed(key, standing.record or 0, result)
    if standing.state == State.FAILED_TERMINAL:
        lapsed = standing.error_class is None
        return failed(
            key, standing.error_class or "TRANSIENT_SYSTEM",
            "HEARTBEAT_TIMEOUT" if lapsed else standing.error_code, standing.error_message,
        )  # fmt: skip
    if standing.state == State.CANCELED:
        return Ended(runnable=key, outcome="canceled", untouched=standing.record is None)
    return None


def end_of_run(run: RunRow, runnable: str) -> Ended:
    """The news of a child run that has ended."""
    if run.status == "COMPLETED":
        return Ended(
            runnable=runnable, outcome="ok", ref=run_ref(run.uid), hash=payload_hash(run.output).hex(), child=run.uid
        )
    if run.status == "CANCELED":
        return Ended(runnable=runnable, outcome="canceled", child=run.uid)
    return Ended(
        runnable=runnable, outcome="error", error_class="PERMANENT_STATE", error_code="child_failed",
        message="the child run failed", child=run.uid,
    )  # fmt: skip


def completed(runnable: str, record: int, result: Any) -> Ended:
    """It succeeded, with that result under that record."""
    return Ended(runnable=runnable, outcome="ok", ref=record_ref(record), hash=payload_hash(result).hex())


def failed(runnable: str, error_class: str, code: str | None, message: str | None) -> Ended:
    """It failed for good: a dead letter."""
    return Ended(
        runnable=runnable, outcome="error", error_class=str(error_class), error_code=code,
        message=message[-_MESSAGE:] if message else None, dead_letter=True,
    )  # fmt: skip
