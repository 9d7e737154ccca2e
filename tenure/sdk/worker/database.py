"""A worker that is connected to the database itself: connections for claims, for reports and for the rest."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TypeVar

from tenure.engine.acting import Outcome
from tenure.engine.actions import claim, expire, queues, renew, workers
from tenure.engine.caller import Caller
from tenure.flow.engine.registering import register_all
from tenure.flow.engine.ticking import due_in, tick
from tenure.flow.model.builder import Workflow
from tenure.flow.postgres import flow_on
from tenure.ledger.retention import Cleaning
from tenure.model import euid
from tenure.model.errors import AlreadyExists, StoreUnavailable, SubjectBusy
from tenure.model.queue import QueuePolicy
from tenure.model.requests import ClaimItems
from tenure.model.worker import Worker, WorkerSpec
from tenure.remote.postgres import remote_on
from tenure.sdk.settings import Settings
from tenure.sdk.steps import DatabaseSteps, Steps
from tenure.sdk.token import Token
from tenure.sdk.worker.holding import Held
from tenure.sdk.worker.link import Link
from tenure.sdk.worker.listener import Listener
from tenure.sdk.worker.options import WorkerOptions
from tenure.sdk.worker.reporting import MANY, Reporting
from tenure.sdk.worker.standing import Standing
from tenure.sdk.worker.transacting import Transacting
from tenure.sdk.worker.transport import Hints, Receiver, Renewed, Report, Served, Taken
from tenure.store.operation import Op
from tenure.store.postgres.store import PostgresStore
from tenure.store.records import ScanHint

T = TypeVar("T")
_SWEEP = 500
#: How long a batch of reports waits for somebody's transaction at a time (seconds), before those in its way are put aside.
_LOCK = 0.3


class DatabaseTransport:
    """``Transport`` over connections of the worker's own."""

    scans = True
    wait = 0.0
    refresh = 5.0

    def __init__(self, settings: Settings, options: WorkerOptions) -> None:
        self._settings = settings
        self._options = options
        self._claiming, self._renewing, self._keeping, self._hearing = (
            Link(settings.dsn, name, settings.clock) for name in ("claiming", "renewing", "keeping", "hearing")
        )
        self._reporting, self._beside = (
            Link(settings.dsn, name, settings.clock, lock_timeout=_LOCK) for name in ("reporting", "reporting beside")
        )
        self._store = PostgresStore(notify=settings.notify)
        self._standing: Standing | None = None
        self._transacting: Transacting | None = None
        self.hints = Hints()
        self.receiver: Receiver | None = None
        self._asked_at = 0.0
        self._cleaning = Cleaning()

    async def enroll(self, spec: WorkerSpec, policies: Sequence[QueuePolicy], workflows: Sequence[Workflow]) -> Worker:
        """See ``Transport.enroll``; the tenant is made, too, where it is not there."""
        settings, keeping = self._settings, self._keeping
        store = self._store
        tenant = await keeping.attempt(lambda: store.tenant(settings.tenant, create=True, actor=settings.actor))
        assert tenant is not None
        caller = Caller(store, tenant, settings.actor, settings.tenant, followers=(flow_on(store), remote_on(store)))
        await keeping.attempt(lambda: define_missing_queues(caller, policies))
        if workflows:
            await keeping.attempt(lambda: register_all(caller, workflows))
        try:
            worker = await keeping.attempt(lambda: workers.register_worker(caller, spec))
        except AlreadyExists:  # another process came first by a hair; this registration follows it
            worker = await keeping.attempt(lambda: workers.register_worker(caller, spec))
        self._worker = worker
        self._caller = caller.acting_as(f"worker:{euid.format_euid(euid.WORKER, worker.uid)}")
        self._reports = Reporting(
            self._reporting, self._beside, self._caller, worker.uid, self.hints.heard.set, lambda: self._claiming.busy
        )  # fmt: skip
        await self._plan(tenant)
        if self._options.standing_claim and not self._options.drain:
            wanted = [key for key in spec.queues if self._options.queue_limits.get(key, 1) > 0]
            self._standing = Standing(
                store, self._caller, worker, wanted, self._options.lease_ttl_seconds, lambda: self.receiver,
                self._hearing, self._keeping,
            )  # fmt: skip
        return worker

    async def _plan(self, tenant: int) -> None:
        """Have the hot statements planned, which takes some ten milliseconds each, before anything is claimed.

        Where that cannot be now they are planned when they are needed, and behind a pooler each time anyway.
        """
        session = self._keeping.session
        if session is None or not session.prepares:
            return
        claims = self._claiming.attempt(lambda: self._store.plan_claims(tenant))
        links = [self._reporting]
        if self._options.concurrency + self._options.prefetch >= MANY:
            links.append(self._beside)
        completions = [link.attempt(lambda: self._store.plan_completions(tenant)) for link in links]
        for outcome in await asyncio.gather(claims, *completions, return_exceptions=True):
            if isinstance(outcome, BaseException) and not isinstance(outcome, StoreUnavailable | SubjectBusy):
                raise outcome

    async def queues(self, wanted: Collection[str]) -> Sequence[Served]:
        """See ``Transport.queues``."""
        found = await self._claiming.perform(lambda: self._caller.store.queues(self._caller.tenant))
        return [Served(q.queue_key, q.dispatch_priority) for q in found.values() if q.enabled and q.queue_key in wanted]

    async def claim(self, request: ClaimItems, token: Token, hint: ScanHint | None) -> Taken:
        """See ``Transport.claim``."""
        asked_at = self._asked_at = time.monotonic()
        return Taken((await self._claiming.attempt(lambda: claim.claim(self._caller, request, hint))).items, asked_at)

    async def seek(self, requests: Sequence[ClaimItems], token: Token, wait: float) -> Taken:
        """See ``Transport.seek``; nobody waits."""
        taken = Taken([], time.monotonic())
        for request in requests:
            if (taken := await self.claim(request, token, None)).items:
                break
        return taken

    async def orphans(self, token: Token) -> Taken:
        """See ``Transport.orphans``."""
        lost = list(await self._claiming.perform(lambda: self._store.taken_under(self._worker.uid, token.digest)))
        items = await self._claiming.perform(lambda: self._store.claimed(lost)) if lost else []
        return Taken(items, self._asked_at)

    async def due_in(self, queue_keys: Sequence[str]) -> float | None:
        """See ``Transport.due_in``."""
        waits = await self._claiming.perform(lambda: due_in(self._caller))
        if waits is not None and waits <= 0:
            await self.tick()
            return 0.0
        work = await self._claiming.perform(lambda: self._caller.store.next_due(self._caller.tenant, queue_keys))
        return min((seconds for seconds in (work, waits) if seconds is not None), default=None)

    async def report(self, batch: Sequence[tuple[Held, Report]]) -> Sequence[Outcome | None]:
        """See ``Transport.report``."""
        return await self._reports.send(batch)

    async def renew(self, held: Sequence[Held], ttl_seconds: int | None) -> Renewed:
        """See ``Transport.renew``: one statement for all, on a connection on which nothing else keeps it waiting."""
        worker = self._worker
        leases = [(each.item.lease, each.token.digest) for each in held]
        done = await self._renewing.attempt(
            lambda: renew.renew_all(self._caller, worker.uid, worker.incarnation, leases, ttl_seconds)
        )
        return Renewed(done.until, done.busy)

    async def beat(self) -> Worker:
        """See ``Transport.beat``."""
        worker = self._worker
        return await self._keeping.attempt(
            lambda: workers.heartbeat_worker(self._caller, worker.uid, worker.incarnation)
        )

    async def sweep(self) -> int:
        """See ``Transport.sweep``: of every queue, so that nothing stays RUNNING for ever, whoever serves it."""
        swept = len(await self._keeping.attempt(lambda: expire.sweep(self._caller, None, _SWEEP)))
        if self._cleaning.due(self._caller.tenant):
            await self._keeping.attempt(lambda: self._cleaning.clean(self._caller))
        return swept

    @property
    def transacting(self) -> Transacting:
        """See ``Transport.transacting``."""
        if self._transacting is None:
            self._transacting = Transacting(self._settings, replace(self._caller, joins=True))
        return self._transacting

    @property
    def steps(self) -> Steps:
        """See ``Transport.steps``."""
        return DatabaseSteps(self._ask)

    async def _ask(self, make: Callable[[Caller], Op[T]]) -> T:
        return await self._keeping.perform(lambda: make(self._caller))

    async def tick(self) -> int:
        """See ``Transport.tick``."""
        return await self._keeping.attempt(lambda: tick(self._caller))

    async def retire(self, reason: str) -> None:
        """See ``Transport.retire``."""
        await self._keeping.attempt(lambda: workers.retire_worker(self._caller, self._worker.uid, reason))

    async def listen(self) -> None:
        """See ``Transport.listen``: by LISTEN on one more connection."""
        listener = Listener(
            self._options.listen_dsn or self._settings.dsn, self._caller.tenant, self.hints,
            own=lambda: (self._reporting.backend, self._beside.backend),
            ping=self._options.listen_ping, patience=self._options.listen_ping, standing=self._standing,
        )  # fmt: skip
        await listener.run()

    async def withdraw(self) -> None:
        """See ``Transport.withdraw``."""
        if self._standing is not None:
            await self._standing.withdraw()

    async def close(self) -> None:
        """See ``Transport.close``."""
        for link in (self._claiming, self._reporting, self._beside, self._renewing, self._keeping, self._hearing):
            await link.close()
        if self._transacting is not None:
            await self._transacting.close()

    @property
    def described(self) -> str:
        """See ``Transport.described``."""
        return str(self._keeping.session)


def define_missing_queues(caller: Caller, policies: Sequence[QueuePolicy]) -> Op[None]:
    """Define those of the queues that do not exist; an existing one keeps its policy."""
    known = yield from caller.store.queues(caller.tenant)
    for policy in policies:
        if policy.queue_key not in known:
            try:
                yield from queues.define_queue(caller, policy)
            except AlreadyExists:
                continue  # another process defined it meanwhile
