"""What the demonstration on Slurm promises, checked at the server and in Slurm after it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tenure.demo.hpc.acts import ANALYSES, CHEAP, CUT, FED, HUNGRY, KILLED, LONG, URGENT, Cast, report_of
from tenure.demo.hpc.slurm import SlurmCluster
from tenure.demo.hpc.stage import Server
from tenure.demo.promises import Promise
from tenure.engine.verify import Report

_ORDERS = (["accepted", "running", "completed"], ["accepted", "running", "failed"], ["accepted", "failed"])


def promises(server: Server, slurm: SlurmCluster, cast: Cast, report: Report) -> list[Promise]:
    """All of them."""
    return [Promise(text, bool(kept)) for text, kept in _checked(server, slurm, cast, report)]


def _checked(server: Server, slurm: SlurmCluster, cast: Cast, report: Report) -> Iterator[tuple[str, object]]:
    shown = {name: server.shown(submission) for name, submission in cast.submissions.items()}
    histories = {name: server.history(submission) for name, submission in cast.submissions.items()}
    found = {
        name: report_of(each) for name, each in shown.items() if name in (*ANALYSES, CUT, KILLED, FED, CHEAP, URGENT)
    }
    jobs = jobs_by_key(slurm)

    yield (
        "every analysis agrees with what was published, within the tolerance",
        all(each is not None and each["within"] for each in found.values()),
    )
    yield (
        "every execution had exactly one job in Slurm, and that is the one the server was told of",
        all(
            jobs[execution["execution_id"]] == {execution["scheduler_ref"]["slurm_job_id"]}
            for each in shown.values()
            for execution in each["executions"]
        ),
    )
    yield (
        "the events of every execution came in the order of the contract, none twice, none refused",
        all(states in _ORDERS for history in histories.values() for states in _states(history).values())
        and not any(history["refusals"] for history in histories.values()),
    )
    yield "what the product took back was canceled in Slurm", _error(histories[LONG]) == "CANCELLED"
    yield (
        "while the network was cut, Slurm was done and the server did not know; then it was told",
        (cast.slurm_during_the_cut, cast.heard_during_the_cut) == ("COMPLETED", "running")
        and shown[CUT]["projection_state"] == "succeeded",
    )
    yield (
        "the job of the killed agent was found by its key, and done once",
        "Found again by its key" in json.dumps(histories[KILLED]) and len(shown[KILLED]["executions"]) == 1,
    )
    if HUNGRY in shown:
        yield (
            "too little memory is no case for another try, and more memory helped",
            _error(histories[HUNGRY]) == "OUT_OF_MEMORY"
            and len(shown[HUNGRY]["executions"]) == 1
            and shown[FED]["projection_state"] == "succeeded",
        )
    yield (
        "the preempted job was tried again, as another execution with another job",
        len({each["scheduler_ref"]["slurm_job_id"] for each in shown[CHEAP]["executions"]}) == 2
        and shown[CHEAP]["projection_state"] == "succeeded",
    )
    yield "the evidence is whole: verify is clean", report.clean


def jobs_by_key(slurm: SlurmCluster) -> dict[str, set[str]]:
    """The numbers of all jobs in Slurm, by their names."""
    found: dict[str, set[str]] = defaultdict(set)
    for job in json.loads(slurm.run("squeue", "--json", "--all", "--states=all"))["jobs"]:
        found[job["name"]].add(str(job["job_id"]))
    return found


def _states(history: dict[str, Any]) -> dict[str, list[str]]:
    """The states that each execution went through."""
    states: dict[str, list[str]] = defaultdict(list)
    for event in _events(history):
        states[event["execution_id"]].append(event["state"])
    return states


def _error(history: dict[str, Any]) -> str | None:
    errors = [event["error"]["code"] for event in _events(history) if event.get("error")]
    return errors[-1] if errors else None


def _events(history: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry["data"] for entry in history["entries"] if entry["type"] == "execution_event.received"]
