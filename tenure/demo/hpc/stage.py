"""What the demonstration on Slurm stands on: a server, the wire to it, a management node with its agent, and a product.

The server and the agent are the programs ``tenure serve`` and ``tenure agent``, each a process of its own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tenure.agent.looking import Standing, look
from tenure.agent.settings import Kind
from tenure.demo.hpc.slurm import SlurmCluster
from tenure.demo.hpc.slurm.daemons import Daemon, until
from tenure.demo.hpc.slurm.ports import free_ports
from tenure.demo.hpc.slurm.site import PARTITIONS
from tenure.demo.hpc.wire import Wire
from tenure.demo.troubles import DemoFailed
from tenure.model.roles import Role
from tenure.sdk.client import Tenure

PRODUCT = "service:product"
_REMOTE = "/api/v1/remote"
_READY_SECONDS = 60.0


#: How often to ask the scheduler where nothing is to take long.
QUICK = {"fastest_seconds": 0.5, "slowest_seconds": 1.0}


class Server:
    """``tenure serve`` for one tenant, and the product's way to it."""

    def __init__(self, dsn: str, tenant: str, folder: Path) -> None:
        self.dsn, self.tenant = dsn, tenant
        self.client = Tenure(dsn, tenant=tenant, actor="user:omar", max_connections=2, create_tenant=True)
        self.client.create_principal(PRODUCT, roles=[Role.WORKER_SERVICE])
        self.client.create_principal("service:site", roles=[Role.ADMIN])
        [self.port] = free_ports(1)
        command = [
            sys.executable, "-m", "tenure.cli", "--json", "--tenant", tenant, "serve", "--port", str(self.port), "--no-ui",
            "--rate", "10000", "--burst", "10000",
        ]  # fmt: skip
        self._daemon = Daemon("the server", command, folder / "server.log", {"TENURE_DSN": dsn})
        address = f"http://127.0.0.1:{self.port}"
        self.product = _caller(address, self.token_of(PRODUCT))
        self.admin = _caller(address, self.token_of("service:site"))

    def token_of(self, principal: str) -> str:
        """A fresh token of somebody who exists."""
        return str(self.client.create_token(principal).secret.reveal())

    def start(self) -> None:
        """Start it and wait until it serves. Raises SlurmTrouble."""
        self._daemon.start()
        until("the server is ready", self._ready, [self._daemon], _READY_SECONDS)

    def _ready(self) -> bool:
        with suppress(httpx.TransportError):
            return self.admin.get("/health/ready").is_success
        return False

    def stop(self) -> None:
        """Stop it."""
        self.product.close()
        self.admin.close()
        self._daemon.stop()
        self.client.close()

    # What a product does

    def submit(self, command: Mapping[str, Any]) -> str:
        """Submit a job; the submission's id."""
        answer = self.product.post(f"{_REMOTE}/submissions", json=dict(command))
        return str(_good(answer)["submission_id"])

    def cancel(self, submission: str, reason: str) -> None:
        """Take a submission back."""
        _good(self.product.post(f"{_REMOTE}/submissions/{submission}/cancel", json={"reason": reason}))

    def shown(self, submission: str) -> dict[str, Any]:
        """How a submission stands, with its executions."""
        return _good(self.product.get(f"{_REMOTE}/submissions/{submission}"))

    def history(self, submission: str) -> dict[str, Any]:
        """What crossed the border for it, and what was refused."""
        return _good(self.admin.get(f"{_REMOTE}/submissions/{submission}/history"))


@dataclass(frozen=True, slots=True)
class Manners:
    """How an agent is to be set up, besides what the stage says: its kind, and sections of ``agent.toml``."""

    kind: Kind = Kind.SLURM
    slurm: Mapping[str, Any] = field(default_factory=dict)
    aiida: Mapping[str, Any] = field(default_factory=dict)
    watch: Mapping[str, Any] = field(default_factory=lambda: QUICK)
    retry: Mapping[str, Any] = field(default_factory=lambda: {"mode": "CONSTANT", "initial_delay_seconds": 1})
    max_attempts: int = 3


class Node:
    """A management node: its definition at the server, the wire to it, and the process of its agent."""

    def __init__(self, server: Server, slurm: SlurmCluster, name: str, folder: Path, manners: Manners) -> None:
        self.server, self.slurm, self.name, self.folder, self.kind = server, slurm, name, folder, manners.kind
        self.folder.mkdir(parents=True, exist_ok=True)
        self.wire = Wire(server.port)
        spec = {
            "queues": {partition: {"partition": partition} for partition in PARTITIONS},
            "silent_after_seconds": 600, "max_attempts": manners.max_attempts, "retry": dict(manners.retry),
        }  # fmt: skip
        shown = _good(server.admin.put(f"{_REMOTE}/nodes/{name}", json=spec))
        self.settings = self.folder / "agent.toml"
        self.settings.write_text(_toml({
            "": {
                "node": name, "kind": self.kind, "url": f"http://127.0.0.1:{self.wire.port}", "poll_seconds": 5.0,
                "state_folder": str(self.folder / "state"),
            },
            "slurm": manners.slurm,
            "aiida": manners.aiida,
            "watch": manners.watch,
            "delivery": {"first_delay_seconds": 0.2, "slowest_seconds": 2.0, "answer_seconds": 10.0},
        }))  # fmt: skip
        self.environment = slurm.environment | {"TENURE_TOKEN": server.token_of(shown["principal"])}
        """What its agent finds in its environment, besides what everybody does."""
        self.agent = self._new_agent()

    @property
    def work(self) -> Path:
        """Where executions have their folders."""
        return self.folder / "state" / "work"

    def _new_agent(self) -> Daemon:
        command = [sys.executable, "-m", "tenure.cli", "--json", "agent", self.kind, "--config", str(self.settings)]
        return Daemon(f"the agent of {self.name}", command, self.folder / "agent.log", self.environment)

    def start_agent(self) -> int:
        """Start the agent; its process id."""
        self.agent = self._new_agent()
        self.agent.start()
        return self.agent.pid

    def heard_of(self) -> bool:
        """Whether the server has heard of an agent of this node that has a scheduler."""
        shown = _good(self.server.admin.get(f"{_REMOTE}/nodes/{self.name}"))
        return shown["polled_at"] is not None and shown["scheduler"] is not None and not shown["scheduler_problem"]

    def look(self) -> Standing:
        """How the agent stands: what ``tenure agent status`` tells."""
        return look(self.folder / "state")

    def stop(self) -> None:
        """Stop the agent in good order, and cut the wire."""
        self.agent.stop()
        self.wire.close()


def _caller(address: str, token: str) -> httpx.Client:
    return httpx.Client(base_url=address, headers={"authorization": f"Bearer {token}"}, timeout=30, trust_env=False)


def _good(answer: httpx.Response) -> dict[str, Any]:
    if not answer.is_success:
        raise DemoFailed(
            f"The server answered {answer.request.method} {answer.request.url.path} with {answer.status_code}: {answer.text}",
            "See the server's log.",
        )
    told: dict[str, Any] = answer.json()
    return told


def _toml(sections: Mapping[str, Mapping[str, Any]]) -> str:
    """A file of settings; strings, numbers, truth values and lists of these look the same in JSON."""
    lines = []
    for section, values in sections.items():
        lines += [f"[{section}]"] if section else []
        lines += [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    return "\n".join(lines) + "\n"
