"""Tells on the screen what crosses the border between product, server and cluster, as it arrives."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from tenure.demo.hpc.stage import Node, Server
from tenure.demo.troubles import DemoFailed

_LOOK = 0.15
_PATIENCE = 90.0
_WIDTH = 24
_STYLES = {"accepted": "cyan", "running": "yellow", "completed": "green", "failed": "red"}


@dataclass(slots=True)
class Followed:
    """A submission that is told of."""

    name: str
    submission: str
    told: int = 0
    ended: bool = False


class Teller:
    """Follows submissions over HTTP, as a product would, and prints a line for each event."""

    def __init__(self, server: Server, node: Node, console: Console) -> None:
        self._server, self._node, self._console = server, node, console
        self._began = time.monotonic()
        self._followed: dict[str, Followed] = {}

    def act(self, title: str, *sentences: str) -> None:
        """A heading, and what is to be seen."""
        self._console.print()
        self._console.print(Text(title, style="bold"))
        for sentence in sentences:
            self._console.print(Text(sentence))

    def say(self, sentence: str, style: str = "") -> None:
        """A line of its own."""
        self._console.print(self._at().append(sentence, style=style))

    def follow(self, name: str, submission: str) -> None:
        """Tell of this submission from now on."""
        self._followed[name] = Followed(name, submission)

    def until(self, what: str, reached: Callable[[], bool]) -> None:
        """Tell what happens until something is reached. Raises DemoFailed where that takes too long."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            done = reached()
            self._catch_up()
            if done:
                return
            if time.monotonic() > deadline:
                raise DemoFailed(
                    f"This did not happen within {_PATIENCE:.0f} s: {what}.",
                    f"Is the machine very busy? The agent's last words:\n{self._node.agent.tail()}",
                )
            time.sleep(_LOOK)

    def _catch_up(self) -> None:
        for each in self._followed.values():
            if each.ended:
                continue
            for entry in self._server.history(each.submission)["entries"]:
                if entry["seq"] > each.told:
                    each.told = entry["seq"]
                    self._tell(each, entry["type"], entry["data"])

    def _tell(self, each: Followed, kind: str, data: dict[str, Any]) -> None:
        if kind == "execution_event.received":
            told = Text(data["state"], style=_STYLES[data["state"]])
            if sentence := _sentence(data):
                told.append(f"  {sentence}", style="")
            self._console.print(self._at().append(f"{each.name:<{_WIDTH}}  ", style="bold").append(told))
        elif kind == "projection.updated" and data["projection_state"] in ("succeeded", "failed"):
            each.ended = data.get("source_execution_state") in ("completed", "failed")
            told = Text(f"→ the product is told: {data['projection_state']}", style="dim")
            self._console.print(self._at().append(f"{each.name:<{_WIDTH}}  ", style="bold").append(told))

    def _at(self) -> Text:
        return Text(f"{time.monotonic() - self._began:6.1f}s  ", style="dim")


def _sentence(event: dict[str, Any]) -> str:
    place = event.get("scheduler_ref") or {}
    said = []
    if event["state"] == "accepted" and place.get("slurm_job_id"):
        said.append(f"Slurm job {place['slurm_job_id']}")
    if event["state"] == "running" and place.get("partition"):
        said.append(f"in {place['partition']}")
    if event.get("error"):
        again = " It is tried again." if event["error"]["retryable"] else ""
        said.append(f"{event['error']['code']}: {event['error']['message']}{again}")
    elif event["state"] == "accepted" and event.get("status_detail"):
        said.append(event["status_detail"])
    return "; ".join(said)
