"""The story of the demonstration on Slurm, act by act. Each act does something and waits until what it shows has happened."""

from __future__ import annotations

import itertools
import json
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tenure.demo.hpc.slow_sbatch import SlowSbatch
from tenure.demo.hpc.stage import Node, Server
from tenure.demo.hpc.telling import Teller
from tenure.demo.hpc.wire import Condition

ANALYSES = ("dog", "rte", "duck_bluebird", "ds1979_anaesthesia")
LONG, CUT, KILLED, HUNGRY, FED, CHEAP, URGENT = (
    "the long one", "during the cut", "during the kill", "too little memory", "with more memory", "preempted", "urgent",
)  # fmt: skip
_ENDED = ("succeeded", "failed")


@dataclass(slots=True)
class Cast:
    """The submissions by name, and what the acts learned on the way."""

    submissions: dict[str, str] = field(default_factory=dict)
    heard_during_the_cut: str = ""
    slurm_during_the_cut: str = ""
    killed: int = 0


class Play:
    """All acts in order."""

    def __init__(self, server: Server, node: Node, sbatch: SlowSbatch, teller: Teller) -> None:
        self._server, self._node, self._sbatch, self._teller = server, node, sbatch, teller
        self._slurm = node.slurm
        self._numbers = itertools.count(1)
        self.cast = Cast()

    def run(self) -> Cast:
        """Play it to the end."""
        self._agent_comes()
        self._work_comes()
        self._taken_back()
        self._network()
        self._killed()
        self._hungry()
        self._preempted()
        return self.cast

    # The acts

    def _agent_comes(self) -> None:
        self._teller.act(
            "1. The agent of a management node starts: it speaks HTTP outwards only, and keeps its own record",
        )
        self._teller.say(f"agent of {self._node.name} starts, process {self._node.start_agent()}")
        self._teller.until("the server has heard of the node", self._node.heard_of)

    def _work_comes(self) -> None:
        self._teller.act(
            "2. A product submits four analyses: consensus labels of what a crowd said, by expectation maximisation",
            "Each is a submission at the server, an execution at the node, a job in Slurm. Here is what the server hears:",
        )
        for dataset in ANALYSES:
            self._submit(dataset, dataset)
        self._teller.until("all analyses are done", lambda: all(self._ended(dataset) for dataset in ANALYSES))

    def _taken_back(self) -> None:
        self._teller.act("3. The product takes a submission back while it runs: its job in Slurm ends")
        self._submit(LONG, "dog", times=100_000)
        self._teller.until("it runs", lambda: self._state(LONG) == "running")
        self._server.cancel(self.cast.submissions[LONG], reason="the question was withdrawn")
        self._teller.say("the product cancels it", "yellow")
        self._teller.until("its job has ended", lambda: self._state(LONG) == "failed")
        self._teller.say(f"squeue says of job {self._job(LONG)}: {self._in_slurm(LONG)}")

    def _network(self) -> None:
        self._teller.act("4. The network between node and server is cut while a job runs")
        self._submit(CUT, "rte", pause=3)
        self._teller.until("it runs", lambda: self._state(CUT) == "running")
        self._node.wire.become(Condition.CUT)
        self._teller.say("the network is down", "red")
        self._teller.until("the job ends in Slurm", lambda: self._in_slurm(CUT) == "COMPLETED")
        self._teller.until("the agent has seen it", lambda: self._node.look().events.get("waiting", 0) > 0)
        self.cast.slurm_during_the_cut, self.cast.heard_during_the_cut = self._in_slurm(CUT), self._state(CUT)
        self._teller.say(
            f"Slurm: {self.cast.slurm_during_the_cut}; what the server knows: {self.cast.heard_during_the_cut}"
        )
        self._teller.say("the network is back", "green")
        self._node.wire.become(Condition.WHOLE)
        self._teller.until("it is told", lambda: self._ended(CUT))

    def _killed(self) -> None:
        self._teller.act(
            "5. The agent is killed (SIGKILL) after sbatch and before it could write down the number of the job",
            "The answer of sbatch is lost, too. Nobody knows that there is a job, but the job: it bears its key.",
        )
        self._sbatch.hold()
        self._submit(KILLED, "duck_bluebird")
        self._teller.until("the job is submitted", self._sbatch.holds_an_answer)
        self.cast.killed = self._node.agent.pid
        self._node.agent.kill()
        self._sbatch.lose_the_answer()
        self._teller.say(f"process {self.cast.killed} is dead, and sbatch with it", "red")
        self._teller.say(f"a new agent starts, process {self._node.start_agent()}")
        self._teller.until("it is done", lambda: self._ended(KILLED))

    def _hungry(self) -> None:
        if not self._slurm.limits_memory:
            return
        self._teller.act(
            "6. A job that takes more memory than it asked for: no retry helps, and the failure says what would"
        )
        self._submit(HUNGRY, "rte", copies=60, memory_mib=48)
        self._teller.until("it has failed", lambda: self._ended(HUNGRY))
        self._submit(FED, "rte", copies=60, memory_mib=1000)
        self._teller.until("it is done", lambda: self._ended(FED))

    def _preempted(self) -> None:
        self._teller.act("7. An urgent job takes the node of a cheap one, which is tried again as another execution")
        self._submit(CHEAP, "duck_bluebird", partition="cheap", cpu=40, pause=5)
        self._teller.until("the cheap one runs", lambda: self._state(CHEAP) == "running")
        self._submit(URGENT, "ds1979_anaesthesia", partition="urgent", cpu=60)
        self._teller.until("both are done", lambda: self._ended(CHEAP) and self._ended(URGENT))

    # What they are made of

    def _submit(
        self, name: str, dataset: str, *, times: int = 1, copies: int = 1, pause: int = 0, partition: str = "normal",
        cpu: int = 1, memory_mib: int = 400,
    ) -> None:  # fmt: skip
        number = next(self._numbers)
        script = self._node.folder / f"input-{number}.sh"
        command = [sys.executable, "-m", "tenure.demo.hpc.payload", dataset, str(times), str(copies)]
        script.write_text(f"#!/bin/sh\nsleep {pause}\nexec {shlex.join(command)}\n", encoding="utf-8")
        submission = self._server.submit({
            "tenant_id": self._server.tenant, "workspace_id": "crowd", "job_id": f"job-{number}",
            "idempotency_key": f"demo-{number}", "management_node_id": self._node.name,
            "execution_profile": {"queue_name": partition},
            "resource_shape": {"cpu": cpu, "memory_mib": memory_mib, "walltime_seconds": 600},
            "payload_ref": {"input_uri": script.as_uri()}, "requested_by": {"user_id": "user:omar"},
        })  # fmt: skip
        self.cast.submissions[name] = submission
        self._teller.follow(name, submission)

    def _shown(self, name: str) -> dict[str, Any]:
        return self._server.shown(self.cast.submissions[name])

    def _ended(self, name: str) -> bool:
        return self._shown(name)["projection_state"] in _ENDED

    def _state(self, name: str) -> str:
        """How its last execution stands, as far as the server knows."""
        executions = self._shown(name)["executions"]
        return str(executions[-1]["state"]) if executions else ""

    def _job(self, name: str) -> str:
        return str(self._shown(name)["executions"][-1]["scheduler_ref"]["slurm_job_id"])

    def _in_slurm(self, name: str) -> str:
        return self._slurm.run("squeue", "--all", "--states=all", "-h", "-o", "%T", "-j", self._job(name)).strip()


def report_of(shown: dict[str, Any]) -> dict[str, Any] | None:
    """What a submission's job has left behind; None where it left nothing."""
    if shown["result_ref"] is None:
        return None
    folder = Path(unquote(urlsplit(shown["result_ref"]["output_uri"]).path))
    report: dict[str, Any] = json.loads((folder / "results" / "report.json").read_text(encoding="utf-8"))
    return report
