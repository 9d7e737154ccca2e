"""Kills an agent with SIGKILL at a line of its code, found by itself: every line between claim and recorded job id.

Run as a program it is a nursery: everything is imported once, and each agent is a fork of it, so that a crash costs a
fraction of a second. It reads one JSON document a line from stdin and answers each with one.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import tenure.agent
from tenure.agent.adapters import scheduler_for
from tenure.agent.agent import Agent, run_until_signal
from tenure.agent.settings import AgentSettings
from tenure.sdk.http.address import Address

ROOT = str(Path(tenure.agent.__file__).parent)
Point = tuple[str, int]
MISSED = 17


@dataclass
class Tracer:
    """Watches the lines of tenure.agent, in all threads, from the moment in which work arrives."""

    point: Point | None = None
    record: Path | None = None

    def __post_init__(self) -> None:
        self.open = False
        self.lines: dict[Point, None] = {}
        self.agent: Agent | None = None

    def install(self) -> None:
        threading.settrace(self.called)
        sys.settrace(self.called)

    def called(self, frame: FrameType, event: str, _argument: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(ROOT):
            return None
        if code.co_name == "_obey" and not self.open and frame.f_locals["orders"].work:
            self.open = True
        return self.line

    def line(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line" and self.open:
            here = (frame.f_code.co_filename[len(ROOT) + 1 :], frame.f_lineno)
            if here == self.point:
                os.kill(os.getpid(), signal.SIGKILL)
            if self.record is not None:
                self.lines.setdefault(here)
            if frame.f_code.co_name == "_has_job" and frame.f_lineno > frame.f_code.co_firstlineno + 1:
                self._recorded(frame)
        return self.line

    def _recorded(self, frame: FrameType) -> None:
        """After the line that writes the job's id down nothing is left to go wrong between the two."""
        source = Path(frame.f_code.co_filename).read_text().splitlines()[frame.f_lineno - 1]
        if not source.strip().startswith("tell("):
            return
        self.open = False
        if self.record is not None:
            self.record.write_text(json.dumps(list(self.lines)))
        if self.point is not None:
            os._exit(MISSED)  # the line was not among those of this life


def live(settings: dict[str, Any], token: str, point: Point | None, record: str | None) -> None:
    """The life of one agent. With a point it ends there, without one it runs until SIGTERM."""
    chosen = AgentSettings.model_validate(settings)
    assert chosen.url is not None
    if point is not None or record is not None:
        Tracer(point, Path(record) if record else None).install()
    run_until_signal(Agent(chosen, Address(chosen.url, token), scheduler_for(chosen)))


def nursery() -> None:
    """Fork an agent for each line of stdin; say its pid, and after ``wait`` how it ended."""
    for line in sys.stdin:
        asked = json.loads(line)
        if "wait" in asked:
            _, status = os.waitpid(asked["wait"], 0)
            print(json.dumps({"status": status}), flush=True)
            continue
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                sys.stdin.close()
                point = tuple(asked["point"]) if asked.get("point") else None
                live(asked["settings"], asked["token"], point, asked.get("record"))
                code = 0
            finally:
                if code:
                    sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
                os._exit(code)
        print(json.dumps({"pid": pid}), flush=True)


class Nursery:
    """The program, from the test's side."""

    def __init__(self, log: Path) -> None:
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.agent.crashing"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._log, text=True,
        )  # fmt: skip
        self.alive: set[int] = set()

    def start(self, settings: AgentSettings, token: str, point: Point | None = None, record: Path | None = None) -> int:
        asked = {"settings": settings.model_dump(mode="json"), "token": token, "point": point}
        pid = int(self._ask({**asked, "record": str(record) if record else None})["pid"])
        self.alive.add(pid)
        return pid

    def wait(self, pid: int) -> int:
        """How it ended, as ``os.waitpid`` has it."""
        status = int(self._ask({"wait": pid})["status"])
        self.alive.discard(pid)
        return status

    def stop(self, pid: int) -> int:
        os.kill(pid, signal.SIGTERM)
        return self.wait(pid)

    def close(self) -> None:
        for pid in list(self.alive):
            os.kill(pid, signal.SIGKILL)
            self.wait(pid)
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(20)
        self._log.close()

    def _ask(self, document: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(document) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the nursery has died; see its log"
        answer: dict[str, Any] = json.loads(line)
        return answer


if __name__ == "__main__":
    nursery()
