"""Two clusters of the laboratory with submissions that stand in every way in which one can stand."""

from __future__ import annotations

from typing import Any

from tenure.remote.model.names import submission_uid
from tenure.sdk.client import Tenure
from tests.ui.laboratory import MARKUP, Laboratory

NODE, SILENT = "cluster-1", "cluster-2"
_SPEC: dict[str, Any] = {
    "display_name": "Slurm in the basement",
    "queues": {
        "normal": {"partition": "cpu", "account": "lab", "accounts": ["grant"], "qos_allowed": ["high"],
                   "max_walltime_seconds": 3600, "max_cpu": 64, "max_memory_mib": 64_000},
        "long": {},
    },
    "silent_after_seconds": 86400, "max_attempts": 2,
}  # fmt: skip
_AGENT = {"agent_id": "agent-7f3a", "scheduler": "slurm 22.05.8"}
_ERROR = {"code": "OUT_OF_MEMORY", "message": "It was killed at 500 MiB: ask for more.", "retryable": False}
_LEFT = {"output_uri": "s3://lab/out/align-8/"}
_RESULT = {"output_uri": "s3://lab/out/align-7/", "metadata_uri": "s3://lab/out/align-7/metadata.json"}


def clusters(client: Tenure, lab: Laboratory) -> None:
    """Define nodes and bring submissions to where tests and pictures want them."""
    client.define_node(NODE, **_SPEC)
    client.define_node(SILENT, queues={"normal": {"partition": "gpu"}}, silent_after_seconds=10)
    client.poll_node(NODE, _AGENT | {"accepting": 0})
    jobs = ["align-7", "align-8", "call-8", "fold-2", MARKUP, "late-1", "moved-3"]
    for job in jobs:
        submit(client, lab, job)
    work = taken(client)
    for at, job in enumerate(jobs[:-2]):
        ref = {"slurm_job_id": f"{4711 + at}", "partition": "cpu"}
        tell(client, work[job], "accepted", scheduler_ref=ref, status_detail="Priority")
    for job in ("align-7", "align-8", "call-8"):
        tell(client, work[job], "running", status_detail="node-17")
    tell(client, work["align-7"], "completed", result_ref=_RESULT)
    tell(client, work["align-8"], "failed", error=_ERROR, result_ref=_LEFT)
    tell(client, work["call-8"], "accepted", event_id="again")  # what cannot follow is refused, and kept
    tell(client, work["call-8"], "running", event_id="and-again", scheduler_ref={"slurm_job_id": "9999"})
    client.cancel_submission(lab.submissions["moved-3"], reason="the input was wrong")
    submit(client, lab, "queued-9", "ws-protein")
    client.poll_node(NODE, _AGENT | {"accepting": 0, "holding": [each.execution_id for each in work.values()][:5]})


def submit(client: Tenure, lab: Laboratory, job: str, workspace: str = "ws-genome") -> str:
    """Submit a job to the node that polls; the id of the submission."""
    command = {
        "tenant_id": "default", "workspace_id": workspace, "job_id": job, "idempotency_key": f"key-{job}",
        "management_node_id": NODE, "execution_profile": {"queue_name": "normal"},
        "resource_shape": {"cpu": 8, "memory_mib": 16_000, "walltime_seconds": 1800},
        "payload_ref": {"input_uri": f"s3://lab/in/{len(lab.submissions)}.sh"},
        "requested_by": {"user_id": "user:ada", "session_id": "s-1"}, "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
    }  # fmt: skip
    lab.submissions[job] = client.submit_job(command).submission_id
    return lab.submissions[job]


def taken(client: Tenure, most: int = 200) -> dict[str, Any]:
    """Poll as the node; the work that it is given, by job."""
    return {each.job_id: each for each in client.poll_node(NODE, _AGENT | {"accepting": most}).work}


def tell(client: Tenure, work: Any, state: str, **more: Any) -> None:
    """Report as the node how work stands."""
    names = ("tenant_id", "workspace_id", "job_id", "submission_id", "execution_id", "trace_id")
    event = {name: getattr(work, name) for name in names} | {
        "event_id": f"{work.execution_id}-{state}", "state": state, "occurred_at": "2026-03-01T12:00:00Z",
    } | more  # fmt: skip
    client.receive_events([event])


def submission_page(submission_id: str) -> str:
    """The address of a submission's screen."""
    return f"/ui/submissions/{submission_id}"


def uid_of_submission(submission_id: str) -> int:
    """The uid of a submission."""
    uid = submission_uid(submission_id)
    assert uid is not None
    return uid
