"""Tells on the screen what happens to the subjects of the demonstration, from the facts as they are appended."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.text import Text

from tenure.demo.crew import Crew
from tenure.demo.troubles import DemoFailed
from tenure.flow.engine.timeline import Moment
from tenure.model import fact_types as ft
from tenure.model.fact import Fact
from tenure.model.states import RecordStatus
from tenure.sdk.client import Tenure
from tenure.terminal.wording import STATE_STYLES, shown

_LOOK = 0.1
_PATIENCE = 90.0
_WIDTH = 22
#: What was planned shows in what ends.
_QUIET = {"run.runnables_planned", "run.child_started"}


class Narrator:
    """Follows subjects and prints a line for each fact that a reader would want to know of."""

    def __init__(self, client: Tenure, console: Console, crew: Crew) -> None:
        self._client = client
        self._console = console
        self._crew = crew
        self._began = time.monotonic()
        self.names: dict[int, str] = {}
        self._told: dict[int, int] = {}
        self.run_names: dict[int, str] = {}
        self._runs_told: dict[int, int] = {}
        self._workers: dict[int, str] = {}

    def act(self, title: str, *sentences: str) -> None:
        """A heading, and what is to be seen."""
        self._console.print()
        self._console.print(Text(title, style="bold"))
        for sentence in sentences:
            self._console.print(Text(sentence))

    def say(self, sentence: str, style: str = "") -> None:
        """A line of its own."""
        line = Text(f"{time.monotonic() - self._began:6.1f}s  ", style="dim")
        self._console.print(line.append(sentence, style=style))

    def follow(self, uid: int, name: str) -> int:
        """Tell of this subject from now on."""
        self.names[uid] = name
        self._told[uid] = 0
        return uid

    def follow_run(self, uid: int, name: str) -> int:
        """Tell of this run, and of the runs that it starts, from now on."""
        self.run_names[uid] = name
        self._runs_told[uid] = 0
        return uid

    def until(self, what: str, reached: Callable[[], bool]) -> None:
        """Tell what happens until something is reached. Raises DemoFailed where that takes too long."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            done = reached()
            self.catch_up()
            if done:
                return
            self._crew.check()
            if time.monotonic() > deadline:
                raise DemoFailed(
                    f"This did not happen within {_PATIENCE:.0f} s: {what}.", "Is the machine very busy? Try again."
                )
            time.sleep(_LOOK)

    def catch_up(self) -> None:
        """Tell what happened since the last look."""
        self._of_subjects()
        self._of_runs()

    def _of_runs(self) -> None:
        """A run's timeline says in sentences what happened; one of a run within a run is told behind its parent's."""
        for uid in list(self._runs_told):
            for moment in self._client.run_timeline(uid, after_seq=self._runs_told[uid]):
                self._runs_told[uid] = moment.seq
                for child in moment.data.get("children", ()):
                    self.follow_run(child["run"], f"{moment.step} of {self.run_names[uid]}")
                if moment.type not in _QUIET:
                    self._line(self.run_names[uid], Text(f"{_short_actor(moment)}{moment.sentence}"))

    def _line(self, name: str, told: Text) -> None:
        line = Text(f"{time.monotonic() - self._began:6.1f}s  ", style="dim")
        self._console.print(line.append(f"{_short(name)}  ", style="bold").append(told))

    def _of_subjects(self) -> None:
        """Tell the facts that were appended since the last look, in the order of the ledger."""
        fresh = [fact for uid, seen in self._told.items() for fact in self._client.facts(uid, after_seq=seen)]
        for fact in sorted(fresh, key=lambda f: (f.at, f.position or 0)):
            self._told[fact.thread] = fact.seq
            if fact.type == ft.COMPLETED:
                for uid in (fact.data or {}).get("outputs", ()):
                    if uid not in self.names:
                        self.follow(uid, f"artifact of {self.names[fact.thread]}")
            sentence = self._sentence(fact)
            if sentence is not None:
                told = Text(sentence).append(f"  {fact.state}", style=STATE_STYLES.get(str(fact.state), ""))
                self._line(self.names[fact.thread], told)

    def _sentence(self, fact: Fact) -> str | None:
        data: dict[str, Any] = dict(fact.data or {})
        match fact.type:
            case ft.CLAIMED:
                return self._again(fact)
            case ft.COMPLETED:
                onward = f" → {fact.queue_key}" if fact.state == "READY" else ""
                return f"{self._who(fact)}: {self._result(fact)}{onward}"
            case ft.FAILED:
                what = "a dead letter" if "dead_letter" in data else data["error_class"]
                return f"{self._who(fact)}: {data.get('error_code')}, {what}"
            case ft.EXPIRED:
                return f"the lease of {self._who(fact)} ran out"
            case ft.HOLD_PLACED:
                return f"{fact.actor} holds it: {data['reason']}"
            case ft.HOLD_RELEASED:
                return f"{fact.actor} lets it go: {data.get('reason', '')}"
            case ft.REQUEUED:
                return f"{fact.actor} requeues it: {data.get('reason', '')}"
        return None

    def _again(self, fact: Fact) -> str | None:
        """Nothing for a first attempt; else what became of the one before."""
        attempts = sorted(self._client.history(fact.thread).thread.attempts.values(), key=lambda a: a.uid)
        before = [a for a in attempts if fact.lease is not None and a.uid < fact.lease]
        if not before or before[-1].record_status in (RecordStatus.SUCCEEDED, RecordStatus.FAILED_TERMINAL):
            return None
        how = "takes it over" if before[-1].record_status is RecordStatus.EXPIRED else "tries again"
        return f"{self._who(fact)} {how}, attempt {attempts[-1].attempt_number}"

    def _who(self, fact: Fact) -> str:
        if fact.worker not in self._workers:
            self._workers |= {worker.uid: worker.worker_key for worker in self._client.workers()}
        return self._workers.get(fact.worker or 0, "a worker").rpartition("/")[2]

    def _result(self, fact: Fact) -> str:
        for row in self._client.history(fact.thread).attempts:
            if row.attempt.uid == fact.lease and isinstance(row.result, dict):
                return summary(row.result)
        return "done"


def _short_actor(moment: Moment) -> str:
    """Who decided, where that was a person."""
    return f"{moment.actor}: " if moment.type == "run.step_resolved" else ""


def _short(name: str) -> str:
    return f"{name:<{_WIDTH}}" if len(name) <= _WIDTH else f"{name[: _WIDTH - 1]}…"


def summary(result: dict[str, Any]) -> str:
    """A result in a few words."""
    if "compared" in result:
        return f"{result['found']:.4f} found, {result['published']:.4f} published: within {result['tolerance']}"
    if "dawid_skene" in result:
        if result["dawid_skene"] is None:
            return f"{result['judgments']} judgments, no right labels known"
        return f"Dawid-Skene {result['dawid_skene']:.4f} (majority {result['majority_vote']:.4f})"
    if "sha256" in result:
        return f"{result['bytes']:,} bytes, SHA-256 {result['sha256'][:12]}"
    return shown(result.get("state", "done"))
