"""Both sides of the border on a real server: a product that submits, and a node that polls and reports."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from tenure.remote.model.names import submission_uid
from tests.api.conftest import Site
from tests.api.documented import Documented

R = "//api/v1/remote"
NODE = "cluster-1"
SPEC: dict[str, Any] = {
    "queues": {
        "normal": {
            "partition": "cpu", "account": "lab", "accounts": ["grant"], "qos_allowed": ["high"],
            "max_walltime_seconds": 3600, "max_cpu": 64, "max_memory_mib": 1000,
        },
        "open": {},
    },
    "silent_after_seconds": 120, "lease_seconds": 60, "max_attempts": 2,
    "retry": {"mode": "CONSTANT", "initial_delay_seconds": 30},
}  # fmt: skip
STATES = ("accepted", "running", "completed", "failed")
RESULT = {"output_uri": "s3://lab/out/1/", "metadata_uri": "s3://lab/out/1/metadata.json"}
ERROR = {"code": "EXIT_3", "message": "It ended with 3.", "retryable": False}
_numbers = itertools.count(1)


def wanted_of(state: str, **more: Any) -> dict[str, Any]:
    """What a state asks for."""
    if state == "completed":
        return {"result_ref": RESULT} | more
    return ({"error": ERROR} if state == "failed" else {}) | more


@dataclass
class Border:
    """One tenant with one node."""

    site: Site
    node: str = NODE
    agent_id: str = field(default_factory=lambda: f"agent-{uuid.uuid4()}")

    def __post_init__(self) -> None:
        self.defined = self.define()
        self.product = self.site.as_("worker_service", name=f"service:product-{next(_numbers)}")
        self.reader = self.site.admin
        self.emitter = self.client_of(self.defined["principal"])

    @property
    def tenant_id(self) -> str:
        return self.site.tenant

    def define(self, **changes: Any) -> Any:
        answer = self.site.admin.request("PUT", f"{R}/nodes/{self.node}", json=SPEC | changes)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def client_of(self, principal: str) -> Documented:
        """An HTTP client of a principal that is there already."""
        secret = str(self.site.trusted.create_token(principal).secret.reveal())
        client = Documented(self.site.server, secret)
        self.site._clients[principal, secret] = client
        return client

    # The node ------------------------------------------------------------------------------------------------------
    def ask_poll(self, *, by: Documented | None = None, node: str | None = None, **said: Any) -> httpx.Response:
        body = {"agent_id": self.agent_id, "accepting": 10} | said
        return (by or self.emitter).request("POST", f"{R}/nodes/{node or self.node}/poll", json=body)

    def poll(self, **said: Any) -> Any:
        answer = self.ask_poll(**said)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def event(self, work: Mapping[str, Any], state: str, **more: Any) -> dict[str, Any]:
        """An event about work that was handed out."""
        joins = ["tenant_id", "workspace_id", "job_id", "submission_id", "execution_id", "trace_id"]
        return {name: work[name] for name in joins} | {
            "event_id": str(uuid.uuid4()), "state": state, "occurred_at": "2026-03-01T12:00:00Z",
        } | wanted_of(state) | more  # fmt: skip

    def report(self, event: Mapping[str, Any], *, by: Documented | None = None) -> httpx.Response:
        return (by or self.emitter).request("POST", f"{R}/events", json=dict(event))

    def tell(self, work: Mapping[str, Any], *states: str, **more: Any) -> Any:
        """Report these states, one after the other; the answer to the last."""
        answer: Any = None
        for state in states:
            response = self.report(self.event(work, state, **more))
            assert response.status_code == 200, response.text
            answer = response.json()
        return answer

    # The product ---------------------------------------------------------------------------------------------------
    def command(self, **changes: Any) -> dict[str, Any]:
        number = next(_numbers)
        return {
            "tenant_id": self.tenant_id, "workspace_id": "ws-1", "job_id": f"job-{number}",
            "idempotency_key": f"key-{number}", "management_node_id": self.node,
            "execution_profile": {"queue_name": "normal"},
            "resource_shape": {"cpu": 2, "memory_mib": 500, "walltime_seconds": 600},
            "payload_ref": {"input_uri": "s3://lab/in/1.sh"}, "requested_by": {"user_id": "u-1", "session_id": "s-1"},
        } | changes  # fmt: skip

    def ask_submit(self, command: Mapping[str, Any], *, by: Documented | None = None) -> httpx.Response:
        return (by or self.product).request("POST", f"{R}/submissions", json=dict(command))

    def submit(self, **changes: Any) -> Any:
        self.poll(accepting=0)
        answer = self.ask_submit(self.command(**changes))
        assert answer.status_code == 202, answer.text
        return answer.json()

    def handed_out(self, **changes: Any) -> Any:
        """A submission that the node was given: its work."""
        accepted = self.submit(**changes)
        return next(w for w in self.poll()["work"] if w["submission_id"] == accepted["submission_id"])

    def shown(self, submission_id: str) -> Any:
        return self.reader.get(f"{R}/submissions/{submission_id}")

    def history(self, submission_id: str) -> Any:
        return self.reader.get(f"{R}/submissions/{submission_id}/history")

    def cancel(self, submission_id: str, **body: Any) -> httpx.Response:
        return self.product.request("POST", f"{R}/submissions/{submission_id}/cancel", json=body)

    # What there is -------------------------------------------------------------------------------------------------
    def types(self, submission_id: str) -> list[str]:
        """The types of the facts of the submission's thread."""
        return [entry["type"] for entry in self.history(submission_id)["entries"]]

    def projections(self, submission_id: str) -> list[tuple[int, str, str | None]]:
        """Round, projection and execution state of each update."""
        return [
            (d["projection_round"], d["projection_state"], d.get("source_execution_state"))
            for entry in self.history(submission_id)["entries"] if entry["type"] == "projection.updated"
            for d in [entry["data"]]
        ]  # fmt: skip

    def subject(self, submission_id: str) -> Any:
        """The subject that stands for a submission, trusted."""
        return self.site.trusted.inspect(self.shown(submission_id)["subject"])

    def state(self, submission_id: str) -> str:
        return str(self.subject(submission_id).situation.thread.envelope.state)

    def fact_count(self, submission_id: str) -> tuple[int, int]:
        """How many facts the threads of submission and subject have."""
        envelope = self.subject(submission_id).situation.thread.envelope
        uid = submission_uid(submission_id)
        assert uid is not None
        return len(self.history(submission_id)["entries"]), envelope.seq
