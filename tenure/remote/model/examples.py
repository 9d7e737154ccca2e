"""Examples of the contracts, for their schemas and the OpenAPI document; a test holds each to its contract."""

from __future__ import annotations

from typing import Any

_AT = "2026-03-01T12:00:00Z"
_JOINS = {
    "tenant_id": "lab", "workspace_id": "ws-1", "job_id": "job-4711", "submission_id": "JX-YGJ24",
    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
}  # fmt: skip
_EXECUTION = "0c9f1b0e-8f0b-5d0e-9a55-0f9d0c5b7a11"
_EVENT = {
    **_JOINS, "event_id": "5d0c6f9e-65f2-5b1e-8d54-7f2f3b0c9a10", "execution_id": _EXECUTION, "occurred_at": _AT,
}  # fmt: skip
_REF = {"slurm_job_id": "4711", "partition": "cpu", "qos": "normal"}
_RESULT = {"output_uri": "s3://lab/out/job-4711/", "metadata_uri": "s3://lab/out/job-4711/metadata.json"}
_FAILURE = {"code": "OUT_OF_MEMORY", "message": "It needs more memory than it asked for.", "retryable": False}
_UPDATE = {
    **_JOINS,
    "projection_event_id": "a2f0f4b8-3c0b-5b7f-9c5e-1d2e3f4a5b6c",
    "projection_round": 1,
    "occurred_at": _AT,
}
_SHAPE = {"cpu": 4, "memory_mib": 8192, "walltime_seconds": 3600}
_PAYLOAD = {"input_uri": "s3://lab/in/job-4711.sh", "artifact_bucket": "s3://lab/out"}
_RECEIVED = {
    "event_id": _EVENT["event_id"], "outcome": "applied", "submission_id": "JX-YGJ24", "execution_id": _EXECUTION,
    "state": "running", "projection_state": "running",
}  # fmt: skip

SUBMIT_JOB_COMMAND: list[Any] = [{
    **{name: value for name, value in _JOINS.items() if name != "submission_id"}, "idempotency_key": "job-4711/1",
    "management_node_id": "cluster-1", "execution_profile": {"queue_name": "normal", "qos": "high", "account": "lab"},
    "resource_shape": _SHAPE, "payload_ref": _PAYLOAD, "requested_by": {"user_id": "ada", "session_id": "s-1"},
}]  # fmt: skip
SUBMISSION_ACCEPTED: list[Any] = [{
    "job_id": "job-4711", "submission_id": "JX-YGJ24", "execution_owner": "cluster-1", "accepted_at": _AT,
    "trace_id": _JOINS["trace_id"],
}]  # fmt: skip
EXECUTION_EVENT: list[Any] = [
    {**_EVENT, "state": "accepted"},
    {**_EVENT, "state": "running", "scheduler_ref": _REF, "status_detail": "on node-7"},
    {**_EVENT, "state": "completed", "scheduler_ref": _REF, "result_ref": _RESULT},
    {**_EVENT, "state": "failed", "scheduler_ref": _REF, "result_ref": _RESULT, "error": _FAILURE},
]
EVENT_RECEIVED: list[Any] = [_RECEIVED]
EVENT_RESULTS: list[Any] = [{"results": [
    {"event_id": _EVENT["event_id"], "status": 200, "received": _RECEIVED, "code": None, "detail": None, "hint": None},
    {
        "event_id": "another", "status": 409, "received": None, "code": "invalid_transition",
        "detail": "Execution x is completed; running cannot follow.", "hint": "What may follow is nothing.",
    },
]}]  # fmt: skip
PROJECTION_UPDATE: list[Any] = [
    {**_UPDATE, "projection_state": "queued", "display_message": "Waits for cluster-1."},
    {**_UPDATE, "projection_state": "running", "source_execution_state": "running"},
    {**_UPDATE, "projection_state": "succeeded", "source_execution_state": "completed", "result_ref": _RESULT},
    {
        **_UPDATE,
        "projection_state": "failed",
        "source_execution_state": "failed",
        "result_ref": _RESULT,
        "failure": _FAILURE,
    },
]
NODE_POLL: list[Any] = [{
    "agent_id": "d9b1d7db-8f5d-4f0e-9c53-0f6f6f0e0f11", "folder_id": "5be0a1f4-43a1-4c8e-8a55-1df0a8a3b0c4", "accepting": 10,
    "wait_seconds": 30, "holding": [_EXECUTION], "scheduler": "slurm 22.05",
}]  # fmt: skip
NODE_ORDERS: list[Any] = [{
    "work": [{
        **_JOINS, "execution_id": _EXECUTION, "attempt": 1, "queue_name": "normal",
        "placement": {"partition": "cpu", "account": "lab", "qos": None}, "resource_shape": _SHAPE, "payload_ref": _PAYLOAD,
    }],
    "cancel": [], "renew_within_seconds": 40.0, "submit_within_seconds": 150.0,
}]  # fmt: skip
