"""The data that decisions ask for, fetched for many runs at once (decision 0010: data stays in the data tier)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tenure.engine.caller import Caller
from tenure.flow.model.names import Runnable, parse_runnable
from tenure.store.operation import Op

if TYPE_CHECKING:
    from tenure.flow.engine.flow import Flow

RECORD, RUN, SIGNAL, MAP = "record", "run", "signal", "map"


def record_ref(record: int) -> str:
    """The reference of the result of an attempt."""
    return f"{RECORD}:{record}"


def run_ref(run: int) -> str:
    """The reference of the output of a run."""
    return f"{RUN}:{run}"


def payload_ref(uid: int) -> str:
    """The reference of what was sent or kept with a fact."""
    return f"{SIGNAL}:{uid}"


def is_of_map(ref: str) -> bool:
    """Whether it is the reference of what all items of a map gave."""
    return ref.startswith(f"{MAP}:")


def fetch(flow: Flow, caller: Caller, refs: Iterable[str]) -> Op[dict[str, Any]]:
    """The values behind references; what is not there is None."""
    wanted: dict[str, list[str]] = defaultdict(list)
    for ref in set(refs):
        kind, _, rest = ref.partition(":")
        wanted[kind].append(rest)
    values: dict[str, Any] = {}
    if wanted[RECORD]:
        results = yield from flow.storage.results([int(rest) for rest in wanted[RECORD]])
        values |= {f"{RECORD}:{rest}": results.get(int(rest)) for rest in wanted[RECORD]}
    if wanted[RUN]:
        rows = yield from flow.storage.runs(caller.tenant, [int(rest) for rest in wanted[RUN]])
        values |= {f"{RUN}:{rest}": row.output for rest in wanted[RUN] if (row := rows.get(int(rest))) is not None}
    if wanted[SIGNAL]:
        payloads = yield from flow.storage.payloads([int(rest) for rest in wanted[SIGNAL]])
        values |= {f"{SIGNAL}:{rest}": payloads.get(int(rest)) for rest in wanted[SIGNAL]}
    if wanted[MAP]:
        values |= yield from _maps(flow, caller, wanted[MAP])
    return dict.fromkeys(refs) | values


def _maps(flow: Flow, caller: Caller, maps: list[str]) -> Op[Mapping[str, list[Any]]]:
    """The results of the items of maps, in order; null for what failed, or never began."""
    named = {rest: _named(rest) for rest in maps}
    runs = sorted({run for run, _ in named.values()})
    standings = yield from flow.storage.standings(runs, everything=True)
    children = yield from flow.storage.children(caller.tenant, runs)
    results = yield from flow.storage.results([s.record for s in standings if s.state == "COMPLETED" and s.record])
    found: dict[tuple[int, str], dict[int, Any]] = defaultdict(dict)
    for s in standings:
        item = parse_runnable(s.runnable.runnable_key)
        if item is not None and item.index is not None:
            value = results.get(s.record) if s.state == "COMPLETED" and s.record is not None else None
            found[s.runnable.run, _whole(item)][item.index] = value
    for child in children:
        item = parse_runnable(child.parent_runnable)
        if item is not None and item.index is not None and child.parent_run is not None:
            found[child.parent_run, _whole(item)][item.index] = child.output if child.status == "COMPLETED" else None
    return {f"{MAP}:{rest}": _in_order(found[run, key]) for rest, (run, key) in named.items()}


def _named(rest: str) -> tuple[int, str]:
    run, _, key = rest.partition("/")
    return int(run), key


def _whole(item: Runnable) -> str:
    return str(Runnable(item.step, item.iteration))


def _in_order(items: Mapping[int, Any]) -> list[Any]:
    return [items.get(index) for index in range(max(items, default=-1) + 1)]
