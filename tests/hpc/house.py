"""Submissions to a real Slurm through the real server and the real agent, and what came of them."""

from __future__ import annotations

import itertools
import json
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenure.agent.slurm import squeue_json
from tenure.demo.hpc.slurm import SlurmCluster
from tenure.demo.hpc.stage import Node, Server
from tenure.store.records import History
from tests.waiting import until

_numbers = itertools.count(1)
_ENDED = ("completed", "failed")


@dataclass
class Submission:
    """A submission to a node."""

    node: Node
    id: str
    work: Path
    """A folder of its own, for what its script leaves behind on the way."""

    @property
    def server(self) -> Server:
        return self.node.server

    @property
    def shown(self) -> dict[str, Any]:
        return self.server.shown(self.id)

    @property
    def executions(self) -> list[dict[str, Any]]:
        return self.shown["executions"]

    @property
    def jobs(self) -> list[str | None]:
        """The number in Slurm of each execution."""
        return [each["scheduler_ref"]["slurm_job_id"] for each in self.executions]

    def events(self, execution: int = 0) -> list[dict[str, Any]]:
        """The events of an execution, in the order in which they took effect."""
        return [
            entry["data"] for entry in self.server.history(self.id)["entries"]
            if entry["type"] == "execution_event.received" and entry["data"]["number"] == execution + 1
        ]  # fmt: skip

    def states(self, execution: int = 0) -> list[str]:
        return [event["state"] for event in self.events(execution)]

    @property
    def refusals(self) -> list[dict[str, Any]]:
        """What was refused of what its node told."""
        return self.server.history(self.id)["refusals"]

    @property
    def evidence(self) -> History:
        """The subject that stands for it: its envelope, its attempts and its facts."""
        return self.server.client.history(self.shown["subject"])

    def seen(self, state: str, execution: int = 0, seconds: float = 60) -> dict[str, Any]:
        """Wait until an execution was told to be in a state (or past it); that event."""

        wait_until(f"{state} of {self.id}", lambda: state in self.states(execution), seconds, lambda: self.told)
        return next(event for event in self.events(execution) if event["state"] == state)

    def ended(self, seconds: float = 90) -> dict[str, Any]:
        """Wait until its last execution has ended and the product was told; how it stands then."""

        def over() -> bool:
            shown = self.shown
            return shown["projection_state"] in ("succeeded", "failed") and shown["executions"][-1]["state"] in _ENDED

        wait_until(f"the end of {self.id}", over, seconds, lambda: self.told)
        return self.shown

    @property
    def told(self) -> str:
        return json.dumps({"shown": self.shown, "history": self.server.history(self.id)}, indent=1)

    def job(self, execution: int = 0) -> str:
        """The number of an execution's job, once it is known."""
        self.seen("accepted", execution)
        number = self.jobs[execution]
        assert number is not None, self.told
        return number

    def running(self, execution: int = 0) -> str:
        """Wait until the job runs; its number."""
        self.seen("running", execution)
        return self.job(execution)

    def begun(self) -> str:
        """Wait until its script, which says so in the file ``begun``, has begun: Slurm says earlier that it runs."""
        job = self.running()
        wait_until(f"the script of {self.id} begins", (self.work / "begun").exists)
        return job


def submit(node: Node, tmp_path: Path, script: str, *, partition: str = "normal", **shape: int) -> Submission:
    """Submit a shell script, which finds a folder of its own in $HERE."""
    number = next(_numbers)
    work = tmp_path / f"s{number}"
    work.mkdir()
    (work / "script.sh").write_text(f"#!/bin/sh\nHERE={work}\n{script}\n")
    command = {
        "tenant_id": node.server.tenant, "workspace_id": "ws", "job_id": f"job-{number}", "idempotency_key": f"key-{number}",
        "management_node_id": node.name, "execution_profile": {"queue_name": partition},
        "resource_shape": {"cpu": 1, "memory_mib": 64, "walltime_seconds": 600} | shape,
        "payload_ref": {"input_uri": (work / "script.sh").as_uri()}, "requested_by": {"user_id": "u"},
    }  # fmt: skip
    return Submission(node, node.server.submit(command), work)


def jobs_by_key(slurm: SlurmCluster) -> dict[str, set[str]]:
    """The numbers of all jobs that Slurm ever had, by their names, without what a refused ``sbatch`` leaves behind."""
    found: dict[str, set[str]] = defaultdict(set)
    for job in json.loads(slurm.run("squeue", *squeue_json.ARGUMENTS))["jobs"]:
        if job["state_reason"] != "BadConstraints":
            for key in {job["name"], job["comment"]}:
                found[key].add(str(job["job_id"]))
    for line in slurm.site.completions.read_text(errors="replace").splitlines():
        if match := re.match(r"JobId=(\d+) .* Name=(\S+) JobState=.* NodeList=(?!\(null\))", line):
            found[match[2]].add(match[1])
    return found


def jobs_of(slurm: SlurmCluster, execution_id: str) -> list[str]:
    """The numbers of all jobs in Slurm that bear this key."""
    return sorted(jobs_by_key(slurm)[execution_id])


def one_job_each(*submissions: Submission) -> None:
    """Each execution has exactly one job in Slurm, the one that was told, and its events came in the contract's order."""
    allowed = [["accepted", "running", "completed"], ["accepted", "running", "failed"], ["accepted", "failed"]]
    for submission in submissions:
        executions = submission.executions
        for number, execution in enumerate(executions):
            assert submission.states(number) in allowed, submission.told
            ids = {event["execution_id"] for event in submission.events(number)}
            assert ids == {execution["execution_id"]}, submission.told
            told = execution["scheduler_ref"]["slurm_job_id"]
            assert jobs_of(submission.node.slurm, execution["execution_id"]) == ([told] if told else []), (
                submission.told
            )
            ids = {
                event["scheduler_ref"]["slurm_job_id"]
                for event in submission.events(number)
                if "slurm_job_id" in (event.get("scheduler_ref") or {})
            }
            assert len(ids) <= 1, submission.told


def state_of(slurm: SlurmCluster, job: str) -> str:
    """The state of a job in Slurm, in one word."""
    return slurm.run("squeue", "-a", "-t", "all", "-h", "-o", "%T", "-j", job).strip()


def bring_up(slurm: SlurmCluster) -> None:
    """A node that was taken down comes back by itself when it next reports; this does not wait for that."""
    for name, state in slurm.states().items():
        if state.startswith("down"):
            slurm.run("scontrol", "update", f"NodeName={slurm.site.node(name)}", "State=RESUME", check=False)


def wait_until(
    what: str, reached: Callable[[], bool], seconds: float = 60, told: Callable[[], str] = lambda: ""
) -> None:
    until(reached, seconds, lambda: f"{what}. {told()}")
