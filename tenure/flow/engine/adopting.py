"""A plain job becomes a workflow of one step (design 02): once its code keeps something, or a signal is sent to it.

The run that it becomes has the job's subject for its one runnable. From there on everything is as for the step of a run: what
is kept is facts of the run, and the end of the job is the end of the run.
"""

from __future__ import annotations

import hashlib
import re

from tenure.engine.caller import Caller
from tenure.flow.engine.advance import advance
from tenure.flow.engine.deciding import new_run, starting
from tenure.flow.engine.flow import Flow, flow_of
from tenure.flow.engine.workflows import define_alone
from tenure.flow.model.builder import Workflow
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.requests import StartRun
from tenure.flow.rows import RunnableRow, WorkflowRow
from tenure.model import euid
from tenure.model.envelope import Envelope
from tenure.model.errors import InvalidRequest, NotFound
from tenure.model.json_text import canonical_json, payload_hash
from tenure.model.thread import SubjectThread
from tenure.store.operation import Op

#: The one step.
STEP = "job"
_MOST = 60


def runnable_of_job(caller: Caller, thread: SubjectThread) -> Op[RunnableRow]:
    """The runnable that a subject under lock stands for; one that stood for none stands for the step of a new run now."""
    flow, env = flow_of(caller), thread.envelope
    found = yield from flow.storage.runnables_of(caller.tenant, [env.uid])
    return found[env.uid] if env.uid in found else (yield from _adopt(flow, caller, env))


def _adopt(flow: Flow, caller: Caller, env: Envelope) -> Op[RunnableRow]:
    if env.shared:
        raise InvalidRequest(
            "Several workers may hold this job at once, so there is no one code that keeps steps.",
            "Submit it with one slot.",
        )
    if env.next_queue_key is None:
        raise InvalidRequest("This job has no queue.", "Route it first: requeue_subject with a queue.")
    subject = yield from caller.store.subject(caller.tenant, env.uid)
    if subject is None:
        raise NotFound("There is no such subject.", "Check its EUID.")
    row, definition = yield from _workflow(flow, caller, env, env.next_queue_key)
    now = yield from caller.store.clock()
    uid = (yield from caller.store.fresh_uids(1))[0]
    value = dict(subject.properties)
    request = StartRun(key=euid.format_euid(euid.SUBJECT, env.uid), input_hash=payload_hash(value).hex())
    moving = new_run(caller, uid, row, definition, value, request, now, subject.correlation_id)
    moving.adopted = {STEP: env.uid}
    yield from advance(flow, caller, {}, [(moving, [starting(uid, request)])], now=now)
    yield from flow.storage.adopt(caller.tenant, env.uid)
    return (yield from flow.storage.runnables_of(caller.tenant, [env.uid]))[env.uid]


def _workflow(flow: Flow, caller: Caller, env: Envelope, queue: str) -> Op[tuple[WorkflowRow, WorkflowDefinition]]:
    name = name_of(queue, env.next_action_key, env.template)
    row = yield from flow.storage.workflow(caller.tenant, name, 1)
    if row is None:
        built = Workflow(
            name, queue=queue, description="A job whose code keeps what it did", output=f"$.outputs.{STEP}?"
        )
        given = {"action": env.next_action_key} if env.next_action_key is not None else {}
        built.task(STEP, template=env.template, on_dead_letter="wait", **given)
        row = yield from define_alone(caller, built.define())
    return row, (yield from flow.definitions(caller.tenant, [row.uid]))[row.uid]


def name_of(queue: str, action: str | None, template: str) -> str:
    """The workflow of all jobs of one kind: by queue, action and template."""
    told = re.sub(r"[^A-Za-z0-9_-]+", "-", action or queue).strip("-")[:_MOST]
    digest = hashlib.sha256(canonical_json([queue, action, template]).encode()).hexdigest()[:8]
    return f"job.{told or 'work'}.{digest}"
