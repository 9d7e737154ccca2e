"""Making decisions on many runs: what they lack is fetched for all of them at once, and they are asked again."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tenure.engine.caller import Caller
from tenure.engine.json_schema import breach
from tenure.flow.engine.ends import end_of_run
from tenure.flow.engine.moving import Moving, Pool, UidsNeeded, Verb
from tenure.flow.engine.values import fetch, is_of_map, payload_ref
from tenure.flow.journal import Position
from tenure.flow.model.commands import StartChild
from tenure.flow.model.data import INPUT, DataNeeded
from tenure.flow.model.decisions.children import child_identity
from tenure.flow.model.decisions.start import decide_start
from tenure.flow.model.decisions.unfolding import Context
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.facts import ParentLink
from tenure.flow.model.fold import nothing
from tenure.flow.model.names import Runnable
from tenure.flow.model.requests import Ended, StartRun
from tenure.flow.rows import RunRow, WorkflowRow
from tenure.model import euid
from tenure.store.operation import Op

if TYPE_CHECKING:
    from tenure.flow.engine.flow import Flow

_DRAW = 64
#: So many runs deep may one transaction start children of children.
MAX_DEPTH = 50

News = dict[int, list[Ended]]


@dataclass(slots=True)
class Deciding:
    """One round of decisions: the runs that it touched, those that it began, and what children could not begin."""

    flow: Flow
    caller: Caller
    now: datetime
    touched: dict[int, Moving] = field(default_factory=dict)
    born: list[Moving] = field(default_factory=list)
    news: News = field(default_factory=dict)
    _values: dict[str, Any] = field(default_factory=dict)
    _pool: Pool = field(default_factory=Pool)
    _workflows: dict[tuple[str, int | None], WorkflowRow | None] = field(default_factory=dict)

    def decide(self, work: Sequence[tuple[Moving, Sequence[Verb]]]) -> Op[None]:
        """Make all decisions, and those on the child runs that come of them."""
        pending = [(moving, list(verbs)) for moving, verbs in work]
        while pending:
            begun = yield from self._all(pending)
            pending = yield from self._children(begun)

    def know(self, values: Mapping[str, Any], uids: Iterable[int]) -> None:
        """Data by reference, and fresh uids, that need not be fetched."""
        self._values |= values
        self._pool.uids += uids

    def alone(self, work: Sequence[tuple[Moving, Sequence[Verb]]]) -> Op[None]:
        """Make the decisions on these runs, and begin no child; none on one that needs what the items of a map gave."""
        yield from self._all([(moving, list(verbs)) for moving, verbs in work], maps=False)

    def draw(self, count: int) -> Op[list[int]]:
        """Fresh uids, of which no decision makes use."""
        if (short := self._pool.taken + count - len(self._pool.uids)) > 0:
            self._pool.uids += yield from self.caller.store.fresh_uids(short)
        return [next(self._pool) for _ in range(count)]

    def _all(self, pending: list[tuple[Moving, list[Verb]]], *, maps: bool = True) -> Op[list[Moving]]:
        decided = [moving for moving, _ in pending]
        while pending:
            needed: set[str] = set()
            short = False
            for moving, verbs in pending:
                try:
                    self._make(moving, verbs)
                except DataNeeded as more:
                    if maps or not any(is_of_map(ref) for ref in more.refs):
                        needed |= more.refs
                    else:
                        verbs.clear()
                except UidsNeeded:
                    short = True
            pending = [(moving, verbs) for moving, verbs in pending if verbs]
            if needed:
                self._values |= yield from fetch(self.flow, self.caller, needed)
            if short:
                self._pool.uids += yield from self.caller.store.fresh_uids(max(_DRAW, len(self._pool.uids)))
        return decided

    def _make(self, moving: Moving, verbs: list[Verb]) -> None:
        self.touched[moving.uid] = moving
        own = {INPUT: moving.row.input} | {payload_ref(uid): payload for uid, payload in moving.payloads.items()}
        values = ChainMap(own, self._values)
        while verbs:
            context = Context(self.now, self.caller.actor, values, self._pool, verbs[0].replay)
            before = self._pool.taken
            try:
                decision = verbs[0].decide(moving.state, moving.definition, context)
            except (DataNeeded, UidsNeeded):
                self._pool.taken = before
                raise
            moving.take(decision, self.now, self.caller.actor)
            del verbs[0]

    def _children(self, parents: Iterable[Moving]) -> Op[list[tuple[Moving, list[Verb]]]]:
        named = {(p.uid, identity(p.uid, c)): (p, c) for p in parents for c in p.commands if isinstance(c, StartChild)}
        asked = list(named.values())
        if not asked:
            return []
        known = yield from self.flow.storage.find_runs(
            self.caller.tenant, [(c.workflow, identity(p.uid, c)) for p, c in asked]
        )
        begun = []
        for parent, command in asked:
            before = known.get((command.workflow, identity(parent.uid, command)))
            if before is not None:
                if before.ended_at is not None:
                    self._tell(parent, end_of_run(before, str(command.runnable)))
                continue
            child = yield from self._child(parent, command)
            if child is not None:
                begun.append(child)
        for parent in {p.uid: p for p, _ in asked}.values():
            parent.commands = [c for c in parent.commands if not isinstance(c, StartChild)]
        return begun

    def _child(self, parent: Moving, command: StartChild) -> Op[tuple[Moving, list[Verb]] | None]:
        name = (command.workflow, command.version)
        if name not in self._workflows:
            self._workflows[name] = yield from self.flow.storage.workflow(self.caller.tenant, *name)
        row = self._workflows[name]
        if row is None:
            self._tell(parent, _unable(command, "workflow_unknown", f"there is no workflow {command.workflow!r}"))
            return None
        if parent.depth >= MAX_DEPTH:
            self._tell(parent, _unable(command, "too_deep", f"it is {MAX_DEPTH} runs below the first already"))
            return None
        definition = (yield from self.flow.definitions(self.caller.tenant, [row.uid]))[row.uid]
        if (problem := input_problem(definition, command.input)) is not None:
            self._tell(parent, _unable(command, "invalid_input", problem))
            return None
        key = identity(parent.uid, command)
        link = ParentLink(run=parent.uid, runnable=str(command.runnable), child_key=command.child_key)
        request = StartRun(key=key, input_hash=command.input_hash, parent=link, root=parent.row.root)
        child = new_run(
            self.caller, command.run, row, definition, command.input, request, self.now, parent.row.correlation_id
        )
        child.depth = parent.depth + 1
        self.born.append(child)
        return child, [starting(child.uid, request)]

    def _tell(self, parent: Moving, news: Ended) -> None:
        self.news.setdefault(parent.uid, []).append(news)


def starting(uid: int, request: StartRun) -> Verb:
    """The verb that begins a run."""
    return Verb(lambda _, definition, context: decide_start(uid, definition, request, context))


def new_run(
    caller: Caller, uid: int, row: WorkflowRow, definition: WorkflowDefinition, value: Any, request: StartRun, now: datetime,
    correlation_id: str | None,
) -> Moving:  # fmt: skip
    """A run that is still to begin."""
    parent = request.parent
    shown = RunRow(
        uid, caller.tenant, row.uid, row.name, "RUNNING", request.key, value, bytes.fromhex(request.input_hash), now,
        root=request.root, parent_run=parent.run if parent else None, parent_runnable=parent.runnable if parent else None,
        correlation_id=correlation_id or euid.format_euid(euid.RUN, uid), trace_id=None,
    )  # fmt: skip
    return Moving(shown, definition, nothing(uid), Position(0, b""))


def identity(parent: int, command: StartChild) -> str:
    """The run key of a child: whoever starts it again finds it again, also after a crash (S3, Child Run Lineage)."""
    at = Runnable(command.runnable.step, command.runnable.iteration)
    return child_identity(parent, str(at), command.workflow, command.child_key)


def _unable(command: StartChild, code: str, message: str) -> Ended:
    return Ended(
        runnable=str(command.runnable), outcome="error", error_class="PERMANENT_STATE", error_code=code, message=message,
        untouched=True, child=command.run,
    )  # fmt: skip


def input_problem(definition: WorkflowDefinition, value: Any) -> str | None:
    """What is wrong with the input of a run, by the schema of its workflow."""
    if definition.input_schema is None:
        return None
    found = breach(definition.input_schema, value, "input")
    return ": ".join(found) if found is not None else None
