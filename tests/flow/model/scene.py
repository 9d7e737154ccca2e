"""One run and what carries out its commands, in memory: what most tests of runs begin with.

After every decision the facts are folded from the beginning, through JSON, and compared with the state.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tenure.flow.model.commands import CancelWork, ClearTimer, Command, EndRun, SetTimer, StartChild, Submit, Wake
from tenure.flow.model.data import DataNeeded
from tenure.flow.model.decisions.apply import decide_apply
from tenure.flow.model.decisions.cancel import decide_cancel
from tenure.flow.model.decisions.pause import decide_pause, decide_resume
from tenure.flow.model.decisions.resolve import decide_resolve
from tenure.flow.model.decisions.signal import decide_signal
from tenure.flow.model.decisions.start import decide_start
from tenure.flow.model.decisions.timers import decide_timer
from tenure.flow.model.decisions.unfolding import Context, Decision
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.fold import fold, nothing
from tenure.flow.model.names import Runnable, parse_runnable
from tenure.flow.model.requests import CancelRun, Ended, PauseRun, ResolveStep, ResumeRun, SignalRun, StartRun
from tenure.flow.model.state import RunState, from_checkpoint
from tenure.model.fact import Fact
from tenure.model.json_text import payload_hash

T0 = datetime(2026, 1, 5, 12, tzinfo=UTC)
RUN = 4096


def fact(seq: int, kind: str, data: Any = None, *, thread: int = RUN, at: datetime = T0, actor: str = "a", **more: Any):
    """One fact of the run."""
    return Fact(thread=thread, seq=seq, type=kind, at=at, tenant=1, actor=actor, data=data, **more)


@dataclass
class RunScene:
    """A run that was started with ``input``; each method is one decision on it at ``now``."""

    definition: WorkflowDefinition
    input: Any = None
    now: datetime = T0
    state: RunState = field(default_factory=lambda: nothing(RUN))
    facts: list[Fact] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    work: dict[str, Submit | StartChild] = field(default_factory=dict)
    submitted: set[str] = field(default_factory=set)
    """All that was ever in ``work``, which a test of recovery empties."""
    timers: dict[str, datetime] = field(default_factory=dict)
    ended: EndRun | None = None
    code_children: list[StartChild] = field(default_factory=list)
    woken: list[str] = field(default_factory=list)
    loads: list[frozenset[str]] = field(default_factory=list)
    last: Decision | None = None
    uids: Any = field(default_factory=lambda: itertools.count(9000, 2))
    refs: Any = field(default_factory=lambda: itertools.count(1))
    run: int = RUN

    def __post_init__(self) -> None:
        self.values["input"] = self.input
        self.state = nothing(self.run) if not self.state.started else self.state

    # Decisions ------------------------------------------------------------------------------------------------------
    def start(self, **request: Any) -> RunScene:
        asked = StartRun(input_hash=payload_hash(self.input).hex(), **request)
        existing = self.state if self.state.started else None
        self.decide(lambda context: decide_start(self.run, self.definition, asked, context, existing))
        return self

    def apply(self, *news: Ended, strict: bool = False) -> Decision:
        return self.decide(lambda context: decide_apply(self.state, self.definition, news, context, strict=strict))

    def ok(self, runnable: str, result: Any = None) -> Decision:
        return self.apply(self.result(runnable, result))

    def result(self, runnable: str, result: Any = None) -> Ended:
        """The end of a runnable whose result is kept in the data tier."""
        ref = f"record:{next(self.refs)}"
        self.values[ref] = self.results[runnable] = result
        return Ended(runnable=runnable, outcome="ok", ref=ref, hash=payload_hash(result).hex())

    def error(self, runnable: str, code: str = "broken", **more: Any) -> Decision:
        return self.apply(
            Ended(runnable=runnable, outcome="error", error_code=code, error_class="PERMANENT_INPUT", **more)
        )

    def canceled(self, runnable: str) -> Decision:
        return self.apply(Ended(runnable=runnable, outcome="canceled"))

    def resolve(self, decision: str, *, actor: str = "ada", replay: Fact | None = None, **more: Any) -> Decision:
        asked = ResolveStep(decision=decision, **more)
        return self.decide(
            lambda context: decide_resolve(self.state, self.definition, asked, replace(context, replay=replay)), actor
        )

    def signal(self, name: str, payload: Any = None, replay: Fact | None = None, **more: Any) -> Decision:
        ref = None if payload is None else f"signal:{next(self.refs)}"
        if ref is not None:
            self.values[ref] = payload
        asked = SignalRun(name=name, ref=ref, hash=payload_hash(payload).hex(), **more)
        return self.decide(
            lambda context: decide_signal(self.state, self.definition, asked, replace(context, replay=replay))
        )

    def cancel(self, **more: Any) -> Decision:
        return self.decide(lambda context: decide_cancel(self.state, self.definition, CancelRun(**more), context))

    def pause(self, **more: Any) -> Decision:
        return self.decide(lambda context: decide_pause(self.state, self.definition, PauseRun(**more), context))

    def resume(self, **more: Any) -> Decision:
        return self.decide(lambda context: decide_resume(self.state, self.definition, ResumeRun(**more), context))

    def timer(self, key: str) -> Decision:
        return self.decide(lambda context: decide_timer(self.state, self.definition, key, context))

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    # What carries them out ------------------------------------------------------------------------------------------
    def decide(self, decision: Any, actor: str = "tester") -> Decision:
        """Decide; load what is asked for and nothing else; append; carry out; compare with the fold."""
        loaded: dict[str, Any] = {}
        for _ in range(20):
            try:
                made: Decision = decision(Context(self.now, actor, loaded, self.uids))
                break
            except DataNeeded as more:
                self.loads.append(more.refs)
                loaded |= {ref: self.load(ref) for ref in more.refs}
        else:
            raise AssertionError("it never has enough data")
        for draft in made.facts:
            self.append(draft, actor)
        self.state = made.state
        for command in made.commands:
            self.carry_out(command)
        self.compare()
        self.last = made
        return made

    def append(self, draft: Any, actor: str) -> None:
        new = fact(
            len(self.facts) + 1, draft.type, json.loads(json.dumps(draft.data)), thread=self.run, at=self.now, actor=actor,
            idempotency_key=draft.idempotency_key, payload_hash=draft.payload_hash,
        )  # fmt: skip
        self.facts.append(new)

    def load(self, ref: str) -> Any:
        kind, _, name = ref.partition(":")
        if kind != "map":
            return self.values[ref]
        runnable = parse_runnable(name.partition("/")[2])
        assert runnable is not None
        planned = [key for key in map(parse_runnable, self.submitted) if key is not None and key.step == runnable.step]
        items = sorted(key.index for key in planned if key.iteration == runnable.iteration and key.index is not None)
        return [self.results.get(str(Runnable(runnable.step, runnable.iteration, index))) for index in items]

    def carry_out(self, command: Command) -> None:
        match command:
            case StartChild(from_code=True):
                self.code_children.append(command)
            case Submit() | StartChild():
                assert str(command.runnable) not in self.work, f"{command.runnable} twice"
                self.work[str(command.runnable)] = command
                self.submitted.add(str(command.runnable))
            case SetTimer(key, at):
                self.timers[key] = at
            case ClearTimer(key):
                self.timers.pop(key, None)
            case EndRun():
                assert self.ended is None
                self.ended = command
            case Wake(runnable):
                self.woken.append(runnable)
            case CancelWork():
                pass

    def compare(self) -> None:
        assert self.state == fold(self.facts, self.run), "the fold of the facts is another state"
        assert from_checkpoint(json.loads(json.dumps(self.state.checkpoint()))) == self.state
        assert self.state.anomaly_count == 0

    # What tests look at ---------------------------------------------------------------------------------------------
    @property
    def open(self) -> list[str]:
        """The runnables that were submitted and of which the run waits for an end."""
        return [key for key in self.work if self.is_open(key)]

    def is_open(self, key: str) -> bool:
        runnable = parse_runnable(key)
        assert runnable is not None
        step = self.state.under_way(Runnable(runnable.step, runnable.iteration))
        if step is None or not step.active:
            return False
        return step.items is None or not step.items.ended >> (runnable.index or 0) & 1

    @property
    def status(self) -> str:
        return str(self.state.status)

    def payload(self, key: str) -> Any:
        command = self.work[key]
        return command.payload if isinstance(command, Submit) else command.input

    def types(self) -> list[str]:
        return [one.type.removeprefix("run.") for one in self.facts]

    def told(self, kind: str) -> list[Any]:
        """The data of all facts of that type."""
        return [one.data for one in self.told_facts(kind)]

    def told_facts(self, kind: str) -> list[Fact]:
        """All facts of that type."""
        return [one for one in self.facts if one.type == f"run.{kind}"]
