"""What a worker asks of a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenure.engine.acting import Outcome
from tenure.model import euid
from tenure.model.errors import InvalidRequest
from tenure.model.json_text import instant
from tenure.model.requests import (
    ClaimItems,
    CompleteExecution,
    DeferExecution,
    DispatchExternal,
    FailExecution,
    ReleaseLease,
)  # fmt: skip
from tenure.model.worker import Worker, WorkerSpec
from tenure.sdk.http import answers
from tenure.sdk.http.call import Call
from tenure.sdk.token import Token
from tenure.sdk.worker.holding import Held
from tenure.sdk.worker.transport import Report
from tenure.store.records import Claimed, Finish


def register(spec: WorkerSpec) -> Call[Worker]:
    """Register a worker."""
    return Call("POST", "/actions/register-worker", answers.worker, spec.model_dump(mode="json"))


def heartbeat(worker: Worker) -> Call[Worker]:
    """Say that it is alive."""
    body = {"worker_euid": _worker(worker.uid), "incarnation": worker.incarnation}
    return Call("POST", "/actions/heartbeat-worker", answers.worker, body)


def retire(worker: Worker, reason: str) -> Call[Worker]:
    """Mark it as gone."""
    body = {"worker_euid": _worker(worker.uid), "reason": reason}
    return Call("POST", "/actions/retire-worker", answers.worker, body)


def claim(requests: Sequence[ClaimItems], token: Token, wait: float = 0.0) -> Call[tuple[list[Claimed], float]]:
    """Take subjects of the first of these queues that has any; what was taken, and how long after the request came."""
    first = requests[0]
    body: dict[str, Any] = {
        "worker_euid": _worker(first.worker), "incarnation": first.incarnation, "queue_key": first.queue_key,
        "limit": first.limit, "start": first.start, "ttl_seconds": first.ttl_seconds, "lease_token": token.reveal(),
        "wait_seconds": wait,
    }  # fmt: skip
    if len(requests) > 1:
        body["also_from"] = [
            {"queue_key": each.queue_key, "limit": each.limit, "idempotency_key": each.idempotency_key}
            for each in requests[1:]
        ]
    return Call("POST", "/actions/claim", _claims, body, first.idempotency_key, wait=wait)


def _claims(shown: Any) -> tuple[list[Claimed], float]:
    return [answers.claimed(each) for each in shown["leases"]], float(shown.get("taken_after_seconds") or 0.0)


def report(worker: Worker, batch: Sequence[tuple[Held, Report]]) -> Call[list[Outcome]]:
    """What became of leases."""
    return _batch(worker, [_reported(held, report) for held, report in batch])


def renew(worker: Worker, held: Sequence[Held], ttl_seconds: int | None) -> Call[list[Outcome]]:
    """Hold on to leases."""
    return _batch(worker, [{"action": "renew", **_holder(each), "ttl_seconds": ttl_seconds} for each in held])


def _batch(worker: Worker, actions: Sequence[Mapping[str, Any]]) -> Call[list[Outcome]]:
    body = {"worker_euid": _worker(worker.uid), "incarnation": worker.incarnation, "actions": actions}
    return Call("POST", "/actions/batch", lambda shown: [answers.outcome(each) for each in shown["outcomes"]], body)


def _reported(held: Held, report: Report) -> dict[str, Any]:
    match report:
        case Finish():
            action, said = "complete", {"result": report.result, "result_ref": report.result_ref}
        case CompleteExecution():
            action, said = "complete", _said(report) | {"result": report.result}
            if "outputs" in said:
                said["output_euids"] = [euid.format_euid(euid.SUBJECT, uid) for uid in said.pop("outputs")]
        case FailExecution():
            action, said = "fail", _said(report)
        case DeferExecution():
            action, said = "defer", _said(report)
        case ReleaseLease():
            action, said = "release", _said(report)
        case DispatchExternal():
            action, said = "dispatch", _said(report)
        case _:
            raise InvalidRequest(f"{type(report).__name__} cannot be reported.", "Report a completion, or a failure.")
    return {"action": action, **_holder(held), **{name: value for name, value in said.items() if value is not None}}


def _said(
    report: CompleteExecution | FailExecution | DeferExecution | ReleaseLease | DispatchExternal,
) -> dict[str, Any]:
    said = report.model_dump(exclude={"lease", "worker", "token_hash"}, exclude_none=True, exclude_defaults=True)
    return {name: instant(value) if hasattr(value, "astimezone") else value for name, value in said.items()}


def _holder(held: Held) -> dict[str, Any]:
    return {"lease_euid": euid.format_euid(euid.LEASE, held.item.lease), "lease_token": held.token.reveal()}


def _worker(uid: int) -> str:
    return euid.format_euid(euid.WORKER, uid)
