"""A laboratory with workflows, over either store: the client's operations and those on runs, by short names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import psycopg

from tenure.flow.engine import asking, recovering, starting, ticking, workflows
from tenure.flow.engine.beginning import Start
from tenure.flow.engine.flow import Flow
from tenure.flow.engine.results import RunResult
from tenure.flow.memory.storage import MemoryFlow
from tenure.flow.model.requests import CancelRun, MigrateRun, PauseRun, ReplayRun, ResolveStep, ResumeRun, RetryRun
from tenure.flow.port import RunFilter
from tenure.flow.postgres.storage import PostgresFlow
from tenure.model.roles import Role
from tenure.model.worker import Worker
from tenure.sdk.operations import Lease
from tenure.store.memory import MemoryStore
from tenure.store.operation import Op
from tenure.store.postgres.store import PostgresStore
from tests.store.harness import Bench, bench_on, memory_bench

T = TypeVar("T")


class FlowLab:
    """One tenant, one worker, whatever queues its workflows name."""

    def __init__(self, bench: Bench, flow: Flow, connection: psycopg.Connection[Any] | None = None) -> None:
        self.bench = bench
        self.tampered = False
        """Set by a test that leaves what verify must find."""
        self.connection = connection
        self.flow = flow
        bench.caller = replace(bench.caller, followers=(flow,))
        self.worker: Worker = bench.worker("w")

    @property
    def storage(self) -> Any:
        return self.flow.storage

    def run(self, operation: Callable[..., Op[T]], *args: Any, **kwargs: Any) -> T:
        return self.bench.perform(operation, *args, **kwargs)

    def define(self, *steps: dict[str, Any], name: str = "order", **fields: Any) -> Any:
        """A workflow of these steps; those without a queue are in ``q``."""
        return self.run(workflows.define_workflow, {"name": name, "queue": "q", "steps": list(steps), **fields})

    def start(self, name: str = "order", value: Any = None, key: str | None = None, **fields: Any) -> RunResult:
        return self.run(starting.start, Start(name, value if value is not None else {}, key, **fields))

    # The work -----------------------------------------------------------------------------------------------------
    def take(self, queue_key: str = "q", limit: int = 1) -> list[Lease]:
        return self.bench.claim(self.worker, queue_key, limit=limit, start=True)

    def work(self, result: Any = None, queue_key: str = "q") -> Lease:
        """Do the next piece of work: claim, start, complete; ``result`` may be worked out from the lease."""
        (lease,) = self.take(queue_key)
        self.bench.complete(lease, result=result(lease) if callable(result) else result)
        return lease

    def fail(self, queue_key: str = "q", **fields: Any) -> Lease:
        """Take the next piece of work, and fail for good."""
        (lease,) = self.take(queue_key)
        self.bench.fail(
            lease, **({"error_class": "PERMANENT_INPUT", "error_code": "E1", "error_message": "no"} | fields)
        )
        return lease

    def waiting(self, queue_key: str = "q") -> list[str]:
        """The action keys of what waits in a queue, in order of execution."""
        return [str(item.envelope.next_action_key) for item in self.bench.queue_items(queue_key, limit=1000)]

    def drain(self, handlers: dict[str, Any] | None = None, queue_key: str = "q", most: int = 10_000) -> list[str]:
        """Work until nothing is left; what was done, in order."""
        done = []
        while len(done) < most and (leases := self.take(queue_key)):
            action = str(leases[0].item.next_action_key)
            handler = (handlers or {}).get(action)
            result = handler(dict(leases[0].item.properties)) if callable(handler) else handler
            self.bench.complete(leases[0], result=result)
            done.append(action)
        return done

    # Runs ---------------------------------------------------------------------------------------------------------
    def state(self, run: RunResult | int) -> Any:
        """The fold of a run."""
        from tenure.flow.engine.moving import fold_runs

        uid = run if isinstance(run, int) else run.run
        return self.run(lambda caller: fold_runs(self.flow, caller, [uid]))[uid].state

    def row(self, run: RunResult | int) -> Any:
        """The row of a run."""
        uid = run if isinstance(run, int) else run.run
        return self.bench.run(self.storage.runs(self.bench.tenant, [uid]))[uid]

    def status(self, run: RunResult | int) -> str:
        return self.row(run).status

    def types(self, run: RunResult | int) -> list[str]:
        uid = run if isinstance(run, int) else run.run
        return [fact.type for fact in self.bench.run(self.storage.journal.load(uid))]

    def ended(self, run: RunResult | int) -> Any:
        """How a run ended: status, code, output."""
        row, state = self.row(run), self.state(run)
        return row.status, state.end.code if state.end else None, row.output

    def tick(self) -> int:
        return self.run(ticking.tick)

    def recover(self, run: RunResult | None = None) -> Any:
        return self.run(recovering.recover, run.run if run is not None else None)

    def list(self, limit: int = 1000, before: int | None = None, **chosen: Any) -> Any:
        return self.bench.run(self.storage.list_runs(self.bench.tenant, RunFilter(**chosen), limit, before))

    def verified(self) -> Any:
        """The report of verify."""
        return self.bench.verify()

    @contextmanager
    def acting_as(self, actor: str, *roles: str) -> Iterator[None]:
        """Do what follows in the name of another: of a process that is trusted, or with roles as a server proves them."""
        before = self.bench.caller
        proved = frozenset(map(Role, roles)) if roles else None
        self.bench.caller = replace(before.acting_as(actor), roles=proved)
        yield
        self.bench.caller = before

    def cancel(self, run: RunResult, **fields: Any) -> RunResult:
        return self.run(asking.cancel, run.run, CancelRun(**fields))

    def pause(self, run: RunResult, **fields: Any) -> RunResult:
        return self.run(asking.pause, run.run, PauseRun(**fields))

    def resume(self, run: RunResult, **fields: Any) -> RunResult:
        return self.run(asking.resume, run.run, ResumeRun(**fields))

    def approve(self, run: RunResult, **fields: Any) -> RunResult:
        return self.run(asking.resolve, run.run, ResolveStep(decision="approved", **fields))

    def reject(self, run: RunResult, **fields: Any) -> RunResult:
        return self.run(asking.resolve, run.run, ResolveStep(decision="rejected", **fields))

    def signal(self, run: RunResult, name: str, payload: Any = None, **fields: Any) -> RunResult:
        return self.run(asking.signal, run.run, name, payload, **fields)

    def replay(self, run: RunResult, **fields: Any) -> RunResult:
        return self.run(starting.replay, run.run, ReplayRun(**fields))

    def migrate(self, run: RunResult, version: int, **fields: Any) -> RunResult:
        return self.run(asking.migrate, run.run, version, MigrateRun(**fields))

    def retry(self, run: RunResult, **fields: Any) -> RunResult:
        return self.run(starting.retry, run.run, RetryRun(**fields))


def memory_lab(journal: Any = None) -> FlowLab:
    bench = memory_bench()
    assert isinstance(bench.store, MemoryStore)
    return FlowLab(bench, Flow(MemoryFlow(bench.store, journal)))


def postgres_lab(connection: psycopg.Connection[Any]) -> FlowLab:
    bench = bench_on(connection)
    assert isinstance(bench.store, PostgresStore)
    return FlowLab(bench, Flow(PostgresFlow(bench.store)), connection)


def task(name: str, **fields: Any) -> dict[str, Any]:
    """A task step."""
    return {"name": name, "performer": "task", **fields}


def step(name: str, performer: str, **fields: Any) -> dict[str, Any]:
    """A step of any kind."""
    return {"name": name, "performer": performer, **fields}
