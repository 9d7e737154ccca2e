"""A small real HTTP server that keeps the contract of S5 to the letter, and can be told to fail.

For what has to be provoked at the server: silence, 503, lost answers. Every body goes through the contracts' own models.
"""

from __future__ import annotations

import json
import ssl
import sys
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tenure.remote.model.contracts import ExecutionEvent, NodeOrders, NodePoll, Placement, Work
from tenure.remote.model.fields import PayloadRef, ResourceShape

TOKEN = "node-token-1"  # noqa: S105
NEXT = {
    None: {"accepted"}, "accepted": {"running", "failed"}, "running": {"completed", "failed"}, "completed": set(),
    "failed": set(),
}  # fmt: skip


@dataclass
class Border:
    """What the server knows: work to hand out, events that came."""

    node: str = "node-1"
    work: dict[str, Work] = field(default_factory=dict)
    events: dict[str, list[ExecutionEvent]] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    to_cancel: set[str] = field(default_factory=set)
    polls: list[NodePoll] = field(default_factory=list)
    seen_ids: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    refusals: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    handed: int = 0
    defects: list[BaseException | None] = field(default_factory=list)
    #: Looks at each request first; an answer (status, body, headers) instead of the server's own, or "drop" to do the work
    #: and lose the answer, or None.
    trouble: Callable[[str, bytes], Any] = lambda path, body: None
    batches: bool = True
    #: For how long after a poll work may be submitted.
    submit_within: float = 60.0
    tls: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        self.changed = threading.Condition()
        self.agents: list[str] = []
        self.folder: str | None = None
        #: Whether the lease of the node's agent has run out, so that one of another folder may take its place.
        self.lapsed = False
        border = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                body = self.rfile.read(length)
                if len(body) < length:
                    self.close_connection = True  # whoever asked has died
                    return
                border.requests.append(self.path)
                trouble = border.trouble(self.path, body)
                if isinstance(trouble, tuple):
                    self._say(*trouble)
                    return
                if self.headers["authorization"] != f"Bearer {TOKEN}":
                    self._say(401, problem("unauthenticated", "This token is not known."))
                    return
                status, answer = border.answer(self.path, body)
                if trouble == "drop":
                    self.close_connection = True
                    return
                if status >= 400 and not self.path.endswith("/poll"):
                    border.refusals.append((status, answer))
                self._say(status, answer)

            def _say(self, status: int, answer: Any, headers: dict[str, str] | None = None) -> None:
                content = json.dumps(answer).encode()
                try:
                    self.send_response(status)
                    for name, value in (headers or {}).items():
                        self.send_header(name, value)
                    self.send_header("content-length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                except OSError:
                    self.close_connection = True

            def log_message(self, *_: Any) -> None: ...

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request: Any, client_address: Any) -> None:
                error = sys.exc_info()[1]
                if not isinstance(error, ConnectionError | ssl.SSLError):
                    border.defects.append(error)

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        if self.tls is not None:
            self.server.socket = self.tls.wrap_socket(self.server.socket, server_side=True)
        self.url = f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    def close(self) -> None:
        with self.changed:
            self.changed.notify_all()
        self.server.shutdown()
        self.server.server_close()
        assert self.defects == []

    # What a product does

    def submit(self, input_uri: str, **shape: int) -> str:
        """Work for the node; its execution id."""
        number = len(self.work) + 1
        resources = {"cpu": 1, "memory_mib": 256, "walltime_seconds": 120, **shape}
        work = Work(
            submission_id=f"SUB{number}", execution_id=str(uuid.uuid4()), attempt=1, tenant_id="lab", workspace_id="ws-1",
            job_id=f"job-{number}", trace_id=f"trace-{number}", queue_name="short", placement=Placement(),
            resource_shape=ResourceShape(**resources), payload_ref=PayloadRef(input_uri=input_uri),
        )  # fmt: skip
        self.add(work)
        return work.execution_id

    def add(self, work: Work) -> None:
        with self.changed:
            self.work[work.execution_id] = work
            self.changed.notify_all()

    def cancel(self, execution_id: str) -> None:
        with self.changed:
            self.to_cancel.add(execution_id)
            self.changed.notify_all()

    def states(self, execution_id: str) -> list[str]:
        return [str(event.state) for event in self.events.get(execution_id, ())]

    def last(self, execution_id: str) -> ExecutionEvent:
        return self.events[execution_id][-1]

    def wait(self, condition: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        with self.changed:
            while not condition():
                left = deadline - time.monotonic()
                assert left > 0, (
                    f"{what}: not within {seconds:.0f} s. Events: { {k: self.states(k) for k in self.work} }"
                )
                self.changed.wait(min(left, 0.1))

    def wait_for_end(self, *executions: str, seconds: float = 60.0) -> None:
        def ended() -> bool:
            return all((self.states(each) or [""])[-1] in ("completed", "failed") for each in executions)

        self.wait(ended, "all executions end", seconds)

    # What the server answers

    def answer(self, path: str, body: bytes) -> tuple[int, Any]:
        if path == f"/api/v1/remote/nodes/{self.node}/poll":
            return self._poll(body)
        if path == "/api/v1/remote/events":
            return self._event(body)
        if path == "/api/v1/remote/events/batch" and self.batches:
            results = []
            for event in json.loads(body)["events"]:
                status, answer = self._event(json.dumps(event).encode())
                results.append({"event_id": event.get("event_id"), "status": status, **pick(answer, "code", "detail")})
            return 200, {"results": results}
        return 404, problem("not_found", "There is no such route.")

    def _poll(self, body: bytes) -> tuple[int, Any]:
        said = NodePoll.model_validate_json(body)
        with self.changed:
            if said.agent_id not in self.agents:
                if self.folder not in (None, said.folder_id) and not self.lapsed:
                    return 409, problem("node_has_agent", "The node has an agent that works in another state folder.")
                self.agents.append(said.agent_id)
                self.folder = said.folder_id
            self.polls.append(said)
            self.changed.notify_all()
            deadline = time.monotonic() + said.wait_seconds
            while True:
                if said.agent_id != self.agents[-1]:
                    return 409, problem("worker_superseded", "A newer agent has come.")
                self.held = set(said.holding)
                told = set(said.canceling)
                due = [each for key, each in self.work.items() if key not in self.held and not self.events.get(key)]
                orders = NodeOrders(
                    work=tuple(due[: said.accepting]), cancel=tuple(sorted(self.to_cancel - told)),
                    renew_within_seconds=60, submit_within_seconds=self.submit_within,
                )  # fmt: skip
                left = deadline - time.monotonic()
                if orders.work or orders.cancel or left <= 0:
                    self.handed += len(orders.work)
                    return 200, orders.wire()
                self.changed.wait(left)

    def _event(self, body: bytes) -> tuple[int, Any]:
        try:
            event = ExecutionEvent.model_validate_json(body)
        except ValidationError as error:
            return 400, problem("invalid_event", str(error))
        with self.changed:
            if event.event_id in self.seen_ids:
                assert self.seen_ids[event.event_id] == event.wire(), "one id, two events"
                return 200, {"event_id": event.event_id, "outcome": "duplicate"}
            work = self.work.get(event.execution_id)
            if work is None or work.submission_id != event.submission_id:
                return 404, problem("submission_not_found", "There is no such submission.")
            if work.tenant_id != event.tenant_id:
                return 403, problem("forbidden", "Not yours.")
            there = self.events.setdefault(event.execution_id, [])
            before = str(there[-1].state) if there else None
            if str(event.state) not in NEXT[before]:
                return 409, problem("invalid_transition", f"{before} -> {event.state}")
            known = [each.scheduler_ref.slurm_job_id for each in there if each.scheduler_ref]
            now = event.scheduler_ref.slurm_job_id if event.scheduler_ref else None
            if now and any(each != now for each in known if each):
                return 409, problem("invalid_transition", "slurm_job_id never changes")
            there.append(event)
            self.seen_ids[event.event_id] = event.wire()
            self.changed.notify_all()
            return 200, {"event_id": event.event_id, "outcome": "applied"}


def problem(code: str, detail: str) -> dict[str, Any]:
    return {"type": "about:blank", "title": code, "status": 400, "code": code, "detail": detail, "hint": ""}


def pick(answer: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: answer[name] for name in names if name in answer}


def complete_and_in_order(states: list[str]) -> bool:
    """Whether an execution was told of as the contract has it, to its end."""
    return states in (
        ["accepted", "running", "completed"], ["accepted", "running", "failed"], ["accepted", "failed"]
    )  # fmt: skip


def script(folder: Path, lines: str) -> str:
    """The URI of an input that is a shell script."""
    path = folder / f"input-{uuid.uuid4().hex[:8]}.sh"
    path.write_text(lines + "\n")
    return path.as_uri()
