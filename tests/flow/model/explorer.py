"""Exhaustive exploration of small workflows: every interleaving of ends, decisions, signals, timers, pauses, cancels.

A run is walked breadth first over its canonical states: without seqs, times and references, which decide nothing here
(a timer may fire at any moment). Definitions bound re-work and signals are sent only while none waits, so that a walk ends by
itself: then every reachable state was seen. What breaks an invariant is reported with the shortest path to it.
"""

from __future__ import annotations

import itertools
import json
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from tenure.flow.model.bits import numbers_in
from tenure.flow.model.commands import CancelWork, StartChild, Submit
from tenure.flow.model.data import DataNeeded
from tenure.flow.model.decisions.apply import decide_apply
from tenure.flow.model.decisions.cancel import decide_cancel
from tenure.flow.model.decisions.pause import decide_pause, decide_resume
from tenure.flow.model.decisions.recover import decide_recover
from tenure.flow.model.decisions.resolve import decide_resolve
from tenure.flow.model.decisions.signal import decide_signal
from tenure.flow.model.decisions.start import decide_start
from tenure.flow.model.decisions.timers import decide_timer
from tenure.flow.model.decisions.unfolding import Context, Decision
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.fold import fold, nothing
from tenure.flow.model.names import Runnable
from tenure.flow.model.requests import CancelRun, Ended, PauseRun, ResolveStep, ResumeRun, SignalRun, StartRun
from tenure.flow.model.shape import shape_of
from tenure.flow.model.state import Phase, RunState
from tenure.model.errors import TenureError
from tenure.model.fact import Fact
from tests.flow.model.scene import RUN, T0, fact

HASH = "ab" * 32
VALUES = {"input": 0, "record:1": 0, "record:2": 1}
VOLATILE = {"seq", "plan_seq", "planned_at", "ended_at", "started_at", "deadline", "until", "ref", "result_hash", "at", "since",
            "signals", "resolved", "hash", "child", "child_key", "message"}  # fmt: skip

Key = str


class BrokenInvariant(AssertionError):
    """A state that must not be, and how it was reached."""

    def __init__(self, what: str, path: list[str]) -> None:
        super().__init__(f"{what}\n  reached by: {' > '.join(path) or '(the beginning)'}")
        self.what = what
        self.path = path


@dataclass(frozen=True, slots=True)
class Standing:
    """A real run that stands for all with its key."""

    state: RunState
    facts: tuple[Fact, ...]
    asked: frozenset[str]


@dataclass(slots=True)
class Explorer:
    """Walks the runs of one definition to the end."""

    definition: WorkflowDefinition
    signals: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ("ok 0", "ok 1", "error", "canceled")
    pauses: bool = False
    states: dict[Key, Standing] = field(default_factory=dict)
    steps: dict[Key, list[Key]] = field(default_factory=dict)
    came_from: dict[Key, tuple[Key, str] | None] = field(default_factory=dict)
    edges: int = 0
    refused: int = 0
    ends: dict[str, int] = field(default_factory=dict)

    def run(self) -> Explorer:
        """Walk; raises ``BrokenInvariant`` for the first state that breaks one."""
        asked = StartRun(input_hash=HASH)
        begun = self._decide(nothing(RUN), lambda context: decide_start(RUN, self.definition, asked, context), [])
        first = self._arrive(Standing(nothing(RUN), (), frozenset()), begun, None, "start")
        waiting = deque([first])
        while waiting:
            key = waiting.popleft()
            for _, after, new in self._moves(key):
                self.edges += 1
                self.steps.setdefault(key, []).append(after)
                if new:
                    waiting.append(after)
        self._all_can_end()
        return self

    def __str__(self) -> str:
        """What was seen, in one line."""
        return (
            f"{self.definition.name}: {len(self.states):,} states, {self.edges:,} steps, {self.refused:,} refusals, "
            f"ends {dict(sorted(self.ends.items()))}"
        )

    # Walking --------------------------------------------------------------------------------------------------------
    def _moves(self, key: Key) -> Iterator[tuple[str, Key, bool]]:
        standing = self.states[key]
        state, definition = standing.state, self.definition
        for label, act in self._acts(standing):
            try:
                made = self._decide(
                    state, lambda context, a=act: a(state, definition, context), [*self.path(key), label]
                )
            except TenureError:
                self.refused += 1
                continue
            if not made.facts:
                if made.commands:
                    raise BrokenInvariant("commands without facts", [*self.path(key), label])
                continue
            known = len(self.states)
            after = self._arrive(standing, made, key, label)
            yield label, after, len(self.states) > known

    def _acts(self, standing: Standing) -> Iterator[tuple[str, Callable[..., Decision]]]:
        state = standing.state
        for runnable in standing.asked:
            for outcome in self.outcomes:
                yield f"{runnable} {outcome}", _applying(_news(runnable, outcome))
        both = sorted(self._open(state))[:2]
        if len(both) == 2:
            yield f"{both[0]} and {both[1]} end at once", _applying(*(_news(one, "ok 0") for one in both))
        yield "a stranger ends", _applying(_news("zz", "ok 0"))
        for decision in ("approved", "rejected", "resumed"):
            request = ResolveStep.model_validate({"decision": decision})
            yield decision, lambda s, d, c, r=request: decide_resolve(s, d, r, c)
        for name in self.signals:
            if not state.signals:
                yield f"signal {name}", lambda s, d, c, n=name: decide_signal(s, d, SignalRun(name=n), c)
        for timer in self._timers(state):
            yield f"timer {timer}", lambda s, d, c, t=timer: decide_timer(s, d, t, c)
        yield "cancel", lambda s, d, c: decide_cancel(s, d, CancelRun(), c)
        if self.pauses:
            yield "pause", lambda s, d, c: decide_pause(s, d, PauseRun(), c)
            yield "resume", lambda s, d, c: decide_resume(s, d, ResumeRun(), c)

    def _timers(self, state: RunState) -> list[str]:
        found = ["deadline"] if state.deadline else []
        for name, step in state.steps.items():
            at = Runnable(name, step.iteration)
            found += [f"{kind}:{at}" for kind, when in (("wait", step.until), ("deadline", step.deadline)) if when]
        return found

    def _open(self, state: RunState) -> set[str]:
        found = set()
        for runnable in state.active:
            step = state.under_way(runnable)
            assert step is not None
            if step.items is not None:
                left = ((1 << step.items.planned) - 1) & ~step.items.ended
                found |= {str(Runnable(runnable.step, runnable.iteration, index)) for index in numbers_in(left)}
            elif step.kind in ("task", "human", "external", "child"):
                found.add(str(runnable))
        return found

    def _decide(self, state: RunState, decision: Callable[[Context], Decision], path: list[str]) -> Decision:
        values: dict[str, Any] = {}
        uids = itertools.count(10_000, 2)
        while True:
            try:
                # As far ahead of any timer as runs are deep, so that every timer is due whenever it is tried.
                return decision(Context(T0 + timedelta(days=state.seq), "somebody", values, uids))
            except DataNeeded as more:
                values |= {ref: VALUES.get(ref, []) for ref in more.refs}
            except AssertionError as broken:
                raise BrokenInvariant(f"a decision contradicts itself: {broken}", path) from broken

    def _arrive(self, before: Standing, made: Decision, key: Key | None, label: str) -> Key:
        path = [*self.path(key), label] if key is not None else []
        at = T0 + timedelta(days=before.state.seq)
        new = tuple(
            fact(before.state.seq + n + 1, draft.type, json.loads(json.dumps(draft.data)), at=at, actor="somebody")
            for n, draft in enumerate(made.facts)
        )
        facts = (*before.facts, *new)
        asked = [str(c.runnable) for c in made.commands if isinstance(c, Submit | StartChild)]
        if len(set(asked)) < len(asked) or set(asked) & before.asked:
            raise BrokenInvariant("a runnable was asked for twice", path)
        if before.state.end is not None:
            raise BrokenInvariant("something was appended behind the end", path)
        stopped = {str(c.runnable) for c in made.commands if isinstance(c, CancelWork)}
        after = Standing(made.state, facts, before.asked | set(asked))
        canonical = self._key(after)
        if canonical not in self.states:
            for what in self._violations(before, after, stopped):
                raise BrokenInvariant(what, path)
            self.states[canonical] = after
            self.came_from[canonical] = (key, label) if key is not None else None
            if after.state.end is not None:
                told = f"{after.state.end.status} {after.state.end.code or ''}".strip()
                self.ends[told] = self.ends.get(told, 0) + 1
        return canonical

    def path(self, key: Key | None) -> list[str]:
        """How a state was reached first."""
        labels: list[str] = []
        while key is not None and (step := self.came_from[key]) is not None:
            key, label = step
            labels.append(label)
        return labels[::-1]

    def _key(self, standing: Standing) -> Key:
        state = standing.state
        plain = json.dumps(_stable(state.model_dump(mode="json")), sort_keys=True)
        kept = sorted(signal.name for signal in state.signals)
        values = {key: output.ref for key, output in state.outputs.items()}
        return f"{plain} {kept} {values} {sorted(standing.asked)}"

    # Invariants -----------------------------------------------------------------------------------------------------
    def _violations(self, before: Standing, after: Standing, stopped: set[str]) -> Iterator[str]:
        state, shape = after.state, shape_of(self.definition)
        # That of the facts before it is the state before it: so it was found when that was new.
        if fold(after.facts[len(before.facts) :], RUN, before.state) != state:
            yield "the fold of the facts is another state"
        if state.anomaly_count:
            yield "a decision appended what does not fit"
        if state.end is not None and (state.active or state.manual):
            yield "it has ended and something is under way"
        undo = state.compensation
        for name, step in state.steps.items():
            if step.phase in (Phase.IDLE, Phase.REACHED) or step.compensates:
                continue
            joined = [edge.source for edge in shape.incoming[name] if edge.kind == "after"]
            if any(state.step(n).phase is not Phase.OK for n in joined):
                yield f"{name} has begun without what it joins"
            if step.items is not None and step.items.open > self.definition.step(name).max_parallel:
                yield f"{name} has more items under way than it may"
        if undo is not None and state.stop is None:
            yield "it undoes without a reason"
        if state.end is not None and state.end.status == "COMPLETED" and state.stop is not None:
            yield "it was to stop and has completed"
        if before.state.stop is None and state.stop is not None:
            missed = {
                str(r)
                for r in before.state.active
                if self._dispatched(r) and state.under_way(r) and self._runs(state, r)
            }
            if missed - stopped:
                yield f"{sorted(missed - stopped)} goes on although the run stops"
        begun = set(after.asked - before.asked)
        if (
            state.stop is not None
            and before.state.stop is not None
            and any(n.partition("#")[0] not in shape.compensates for n in begun)
        ):
            yield f"{sorted(begun)} began although the run stops"
        if before.state.paused and state.paused and state.stop is None and begun:
            yield f"{sorted(begun)} began although the run is paused"
        made = self._decide(state, lambda context: decide_recover(state, self.definition, context), [])
        if state.end is None and made.facts:
            yield f"{made.facts[0].type} should have followed at once"

    def _dispatched(self, runnable: Runnable) -> bool:
        return self.definition.step(runnable.step).performer in ("task", "human", "external", "child", "map")

    def _runs(self, state: RunState, runnable: Runnable) -> bool:
        step = state.under_way(runnable)
        return step is not None and step.active and not step.late

    def _all_can_end(self) -> None:
        """From every state some way leads to an end, and no state without an end is without a way."""
        back: dict[Key, set[Key]] = {}
        for source, targets in self.steps.items():
            for target in targets:
                back.setdefault(target, set()).add(source)
        good = {key for key, standing in self.states.items() if standing.state.end is not None}
        waiting = list(good)
        while waiting:
            for source in back.get(waiting.pop(), ()):
                if source not in good:
                    good.add(source)
                    waiting.append(source)
        for key in self.states:
            if key not in good:
                raise BrokenInvariant("nothing leads from here to an end", self.path(key))


def _stable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _stable(inner) for key, inner in value.items() if key not in VOLATILE}
    return [_stable(inner) for inner in value] if isinstance(value, list) else value


def _news(runnable: str, outcome: str) -> Ended:
    if outcome.startswith("ok"):
        number = int(outcome[-1])
        return Ended(runnable=runnable, outcome="ok", ref=f"record:{number + 1}", hash=f"{number}" * 64)
    return Ended.model_validate({"runnable": runnable, "outcome": outcome})


def _applying(*news: Ended) -> Callable[..., Decision]:
    return lambda state, definition, context: decide_apply(state, definition, news, context)
