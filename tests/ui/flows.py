"""Workflows of the laboratory, with runs that stand in every way in which a run can stand."""

from __future__ import annotations

from tenure.flow.model.builder import Workflow, to
from tenure.model import euid
from tenure.model.states import ErrorClass
from tenure.sdk.client import Tenure
from tests.ui.laboratory import MARKUP, Laboratory

QUEUE = "report/steps"
REPORT = (
    Workflow("report", queue=QUEUE, description="From a sample to its signed report", output="$.outputs.publish?")
    .task("prepare", description="Collect what belongs to the sample")
    .map("lanes", "$.input.lanes", after="prepare", tolerate=2)
    .approval(
        "release",
        after="lanes",
        on_ok="publish",
        on_error=to("prepare", limit=2),
        prompt="Is it good enough for the clinic?",
    )
    .task("publish")
    .log("told", "The report is out", after="publish")
)
BATCH = (
    Workflow("batch", queue=QUEUE)
    .child("sample", "report", input="$.input")
    .wait("courier", signal="picked-up", after="sample")
    .pause("look", after="courier")
)


def flows(client: Tenure, lab: Laboratory) -> None:
    """Define the workflows and bring runs to where tests and pictures want them."""
    client.define_queue(QUEUE, max_attempts_default=1, dispatch_priority=5)
    client.define_workflow(REPORT)
    client.define_workflow(
        REPORT.as_data() | {"version": 2, "description": "From a sample to its signed and told report"}
    )
    client.define_workflow(BATCH)

    def start(key: str, workflow: str = "report", lanes: int = 2) -> int:
        given = {"sample": key, "lanes": list(range(1, lanes + 1))}
        lab.runs[key] = client.start_run(workflow, given, key=key).run
        return lab.runs[key]

    def work(run: int, *failing: str) -> None:
        for step in client.inspect_run(run).steps:
            for subject in step.subjects:
                if subject.state == "READY":
                    _work(client, lab, subject.subject, fails=subject.runnable in failing)

    for key in ("r-released", "r-waiting"):
        run = start(key)
        work(run)
        work(run)
    client.approve(lab.runs["r-released"], comment="clean")
    work(lab.runs["r-released"])
    work(start("r-failed"), "prepare")
    run = start("r-lanes", lanes=4)
    work(run)
    lanes = next(step for step in client.inspect_run(run).steps if step.step == "lanes").subjects
    _work(client, lab, lanes[0].subject, fails=False)
    _work(client, lab, lanes[1].subject, fails=True)
    lab.runs["r-batch"] = client.start_run("batch", {"sample": "B", "lanes": [1]}, key="r-batch").run
    client.pause_run(start("r-paused"), reason="the sequencer is being moved")
    start(MARKUP)
    client.define_schedule("nightly", cron="0 2 * * *", timezone="Europe/Berlin", workflow="report",
                           input={"sample": "control", "lanes": [1]})  # fmt: skip
    client.define_schedule("weekly/clean", cron="0 5 * * 1", queue_key="extraction", missed="skip")


def run_page(uid: int) -> str:
    """The address of a run's screen."""
    return f"/ui/runs/{euid.format_euid(euid.RUN, uid)}"


def _work(client: Tenure, lab: Laboratory, subject: int, *, fails: bool) -> None:
    lease = client.claim(lab.workers["align/north-1"], QUEUE, subject=subject, start=True)[0]
    if fails:
        client.fail(lease, error_class=ErrorClass.PERMANENT_INPUT, error_code="truncated",
                    error_message="ValueError: the file ends in the middle of a record")  # fmt: skip
    else:
        client.complete(lease, result={"reads": 812_345})
