"""One border over either store, driven by steps: what Hypothesis draws is done to both, and their answers are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from tenure.model.errors import TenureError, WorkerSuperseded
from tenure.remote.engine.canceling import cancel_submission
from tenure.remote.engine.nodes import define_node
from tenure.remote.engine.polling import poll
from tenure.remote.engine.reading import standing
from tenure.remote.engine.receiving import receive_events
from tenure.remote.engine.remote import Remote
from tenure.remote.engine.submitting import submit_job
from tenure.remote.model.contracts import EventReceived, ExecutionEvent, NodePoll, SubmitJobCommand
from tenure.remote.model.names import execution_id_of
from tenure.remote.model.node import NodeSpec
from tenure.store.operation import Op
from tests.remote.border import RESULT, SPEC
from tests.store.harness import Bench

T = TypeVar("T")
Step = tuple[Any, ...]
_EXECUTIONS = 9


class World:
    """One tenant with one node over one store. Submissions and executions are named by their numbers."""

    def __init__(self, bench: Bench, remote: Remote) -> None:
        self.bench = bench
        self.remote = remote
        bench.caller = replace(bench.caller, followers=(remote,))
        self.ids: list[str] = []
        self._names: dict[str, tuple[int, int]] = {}
        self._replaced: Counter[str] = Counter()
        """How often the agent of a folder was told that another one had come in its place."""
        self._may_submit: dict[str, tuple[str, datetime]] = {}
        """The folder whose agent was given an execution last, and until when it may submit it."""
        self._run(define_node, "n", NodeSpec.model_validate(SPEC))
        self.poll(0)

    def do(self, step: Step) -> Any:
        """What a step answers, in words that both stores share."""
        verb, *arguments = step
        try:
            return getattr(self, verb)(*arguments)
        except TenureError as error:
            return error.code

    # The steps -----------------------------------------------------------------------------------------------------
    def submit(self) -> None:
        number = len(self.ids)
        command = SubmitJobCommand.model_validate({
            "tenant_id": self.bench.caller.tenant_key, "workspace_id": "ws", "job_id": f"job-{number}",
            "idempotency_key": f"key-{number}", "management_node_id": "n", "execution_profile": {"queue_name": "open"},
            "resource_shape": {"cpu": 1, "memory_mib": 1, "walltime_seconds": 1}, "trace_id": "t",
            "payload_ref": {"input_uri": "file:///in"}, "requested_by": {"user_id": "u"},
        })  # fmt: skip
        submission_id = self._run(submit_job, command).submission_id
        self.ids.append(submission_id)
        self._names |= {execution_id_of(submission_id, n): (number, n) for n in range(1, _EXECUTIONS)}

    def poll(self, accepting: int, holds: bool = False, folder: str = "a") -> Any:
        held = tuple(e.execution_id for e in self._executions() if e.state is not None) if holds else ()
        agent = f"{folder}{self._replaced[folder]}"
        said = NodePoll(agent_id=agent, folder_id=folder, accepting=accepting, holding=held)
        now = self.bench.run(self.bench.store.clock())
        try:
            orders = self._run(poll, "n", said)
        except WorkerSuperseded:
            self._replaced[folder] += 1  # it stops, and is started again
            raise
        within = timedelta(seconds=orders.submit_within_seconds or 0)
        for work in orders.work:
            holder, until = self._may_submit.get(work.execution_id, (folder, now))
            assert holder == folder or until <= now, "two agents may submit the same"
            self._may_submit[work.execution_id] = (folder, now + within)
        self._may_submit |= {
            e: (folder, now + within) for e, (holder, _) in self._may_submit.items() if holder == folder
        }
        return sorted(self._names[w.execution_id] for w in orders.work), sorted(self._names[e] for e in orders.cancel)

    def events(self, *described: Mapping[str, Any]) -> list[Any]:
        made = [self._event(each) for each in described if each["submission"] < len(self.ids)]
        outcomes = self._run(receive_events, made)
        return [(o.outcome, o.state, o.projection_state) if isinstance(o, EventReceived) else o.code for o in outcomes]

    def onward(self, submission: int, good: bool, retryable: bool) -> Any:
        """The event that comes next for the newest execution, as its node would send it."""
        if submission >= len(self.ids):
            return None
        rows = self._run(standing, self.ids[submission]).executions
        if not rows:
            return None
        execution = rows[-1].execution
        following = {None: "accepted", "accepted": "running" if good else "failed"}.get(execution.state)
        state = following or ("completed" if good else "failed")
        return self.events({
            "submission": submission, "execution": execution.number, "state": state, "key": f"{state}-true", "slurm": "1",
            "retryable": retryable,
        })  # fmt: skip

    def later(self, seconds: int) -> None:
        self.bench.later(seconds)
        self.poll(0)

    def cancel(self, submission: int) -> Any:
        return str(self._run(cancel_submission, self._id(submission), "why not").submission.projection_state)

    def hold(self, submission: int) -> Any:
        return str(self.bench.hold(self._subject(submission), reason="look").state)

    def release(self, submission: int) -> Any:
        return str(self.bench.release_hold(self._subject(submission)).state)

    def requeue(self, submission: int) -> Any:
        return str(self.bench.requeue(self._subject(submission), reopen=True, reason="again").state)

    def sweep(self) -> Any:
        return len(self.bench.sweep())

    # What there is -------------------------------------------------------------------------------------------------
    def snapshot(self) -> list[Any]:
        """Everything that both stores must agree on."""
        found = []
        for submission_id in self.ids:
            stands = self._run(standing, submission_id)
            row = stands.submission
            executions = [
                (e.execution.number, e.execution.state, e.execution.slurm_job_id, e.execution.wanted, e.open)
                for e in stands.executions
            ]
            told = [(f.type, self._plain(f.data)) for f in self.facts(submission_id)]
            found.append((
                self.bench.state(row.subject), row.projection_state, row.projection_round, row.source_execution_state,
                row.display_message, row.failure, row.result_ref, executions, told, self.bench.types(row.subject),
                self.bench.refusals(row.subject), stands.results,
            ))  # fmt: skip
        return found

    def facts(self, submission_id: str) -> Sequence[Any]:
        uid = self._run(standing, submission_id).submission.uid
        return self.bench.run(self.bench.store.facts(uid))

    def _plain(self, data: Mapping[str, Any] | None) -> dict[str, Any]:
        hidden = {"submission_id", "subject", "projection_event_id", "execution_id", "tenant_id"}
        return {name: value for name, value in (data or {}).items() if name not in hidden}

    def _event(self, d: Mapping[str, Any]) -> ExecutionEvent:
        submission, number, state = d["submission"], d["execution"], d["state"]
        submission_id = self.ids[submission]
        error = {"code": "E", "message": "no", "retryable": d.get("retryable", False)}
        wants = {"completed": {"result_ref": RESULT}, "failed": {"error": error}}.get(state, {})
        return ExecutionEvent.model_validate({
            "event_id": f"{submission}-{number}-{d['key']}", "tenant_id": self.bench.caller.tenant_key, "workspace_id": "ws",
            "job_id": f"job-{submission}", "submission_id": submission_id, "trace_id": "t", "state": state,
            "execution_id": execution_id_of(submission_id, number), "occurred_at": "2026-01-05T12:00:00Z",
            "scheduler_ref": {"slurm_job_id": d["slurm"]}, **wants,
        })  # fmt: skip

    def _executions(self) -> list[Any]:
        return [e.execution for each in self.ids for e in self._run(standing, each).executions]

    def _id(self, submission: int) -> str:
        return self.ids[submission] if submission < len(self.ids) else "JX-0"

    def _subject(self, submission: int) -> int:
        return int(self._run(standing, self._id(submission)).submission.subject)

    def _run(self, operation: Callable[..., Op[T]], *arguments: Any) -> T:
        return self.bench.perform(operation, *arguments)
