"""The relay: one process of any number, which leads subscriptions by named leases and sends their events (design 05, Out).

It reads the ledger below the horizon, so that no fact is skipped, whatever transactions end when; only positions that are
safe in this sense are ever written down, so that this holds over restarts, too.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tenure.engine.caller import Caller
from tenure.engine.logging import where
from tenure.ledger.destinations.making import Maker
from tenure.ledger.horizon import Horizon
from tenure.ledger.relaying import books
from tenure.ledger.relaying.leader import Leader, Perform
from tenure.ledger.retention import Cleaning
from tenure.ledger.rows import Watched
from tenure.model.errors import TenureError

_log = logging.getLogger("tenure.relay")
_AWAY = 2.0


@dataclass(frozen=True, slots=True)
class RelaySettings:
    """``tenant``: its uid, where the relay is for one alone. ``files``: the folder for events that go to files, none
    where it writes none. Seconds: how long a lease lasts unrenewed, and how often it looks for something new.
    """

    tenant: int | None = None
    files: Path | None = None
    lease_seconds: float = 30.0
    poll_seconds: float = 0.5


class Relay:
    """Sends what is told to all subscriptions that it leads, until it is stopped. Any number may run.

    It leads none whose kind of destination is in ``without``.
    """

    def __init__(
        self, perform: Perform, settings: RelaySettings | None = None, makers: Mapping[str, Maker] | None = None,
        without: Set[str] = frozenset(),
    ) -> None:  # fmt: skip
        self.holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self.settings = settings or RelaySettings()
        self._perform = perform
        self._makers = makers or {}
        self._without = without
        self._horizon = Horizon()
        self._cleaning = Cleaning()
        self._told = False
        self._leaders: dict[int, Leader] = {}
        self._turns: dict[int, asyncio.Task[None]] = {}
        self._more = asyncio.Event()
        self._stopping = asyncio.Event()

    @property
    def leading(self) -> frozenset[int]:
        """The subscriptions that it leads."""
        return frozenset(self._leaders)

    async def run(self) -> None:
        """Go on until ``stop``. A database that is away is waited for."""
        try:
            while not self._stopping.is_set():
                pause = self.settings.poll_seconds
                try:
                    await self._round()
                except TenureError as error:
                    _log.warning("Relay: %s", error.message)
                    pause = _AWAY
                await self._rest(pause)
        finally:
            await self.close()

    async def once(self) -> bool:
        """One round, and the turns that it began; whether there is more to do at once."""
        await self._round()
        await asyncio.gather(*self._turns.values())
        return self._more.is_set() and not self._stopping.is_set()

    async def drain(self) -> None:
        """Send all that can be sent at present."""
        while await self.once():
            pass

    def stop(self) -> None:
        """Begin no more deliveries."""
        self._stopping.set()
        self._more.set()
        for leader in self._leaders.values():
            leader.stopping = True

    async def close(self) -> None:
        """Finish what is under way, and give the leases back, so that another relay can lead at once."""
        self.stop()
        await asyncio.gather(*self._turns.values(), return_exceptions=True)
        held = list(self._leaders)
        for uid in held:
            await self._drop(uid)
        if held:
            try:
                await self._perform(lambda _: books.let_go(held, self.holder))
            except TenureError as error:  # they run out by themselves
                _log.warning("Relay: the leases were not given back: %s", error.message)

    async def _round(self) -> None:
        """Look how far the ledger is safe, renew and take leases, and begin turns where there is something to do.

        A turn begins only with what was watched under its own lease, and after the last turn was written down: a row from before
        may know nothing of a thread that waits by now, and what follows in it would be sent first.
        """
        self._more.clear()
        safe = await self._perform(self._horizon.look)
        at_rest = self._leaders.keys() - self._turns.keys()
        watched = self._mine(await self._perform(lambda _: books.watch(self.settings.tenant)))
        await self._keep(watched)
        await self._clean(watched)
        for each in watched:
            leader = self._leaders.get(each.uid)
            if leader is None:
                await self._lead(each)
            elif each.uid in at_rest and leader.wants(each, safe):
                turn = self._turns[each.uid] = asyncio.create_task(self._turn(leader, each, safe))
                turn.add_done_callback(lambda _, uid=each.uid: self._turns.pop(uid, None))  # type: ignore[misc]

    def _mine(self, watched: list[Watched]) -> list[Watched]:
        """Those to whose kind of destination it may deliver; the others are for other relays, which the log says once."""
        mine = [each for each in watched if each.spec.destination.kind not in self._without]
        if len(mine) < len(watched) and not self._told:
            self._told = True
            _log.warning(
                "This relay starts no runs: event triggers are for another one, or grant its database role tenure_api."
            )
        return mine

    async def _turn(self, leader: Leader, watched: Watched, safe: int) -> None:
        try:
            if await leader.turn(watched, safe):
                self._more.set()
        except books.Fenced:
            _log.warning("Subscription %s of %s is led by another relay by now.", watched.spec.name, watched.tenant_key)
            if self._leaders.get(watched.uid) is leader:  # this relay may have taken the lease anew meanwhile
                await self._drop(watched.uid)
        except TenureError as error:
            _log.warning("Subscription %s of %s: %s", watched.spec.name, watched.tenant_key, error.message)
            await asyncio.sleep(_AWAY)
        except Exception as error:
            _log.error("Subscription %s of %s: %s", watched.spec.name, watched.tenant_key, where(error))
            await asyncio.sleep(_AWAY)

    async def _keep(self, watched: list[Watched]) -> None:
        """Renew the leases that are a third gone, and let go of subscriptions that nobody wants delivered any more."""
        ttl = self.settings.lease_seconds
        present = {each.uid for each in watched}
        gone = [uid for uid in self._leaders if uid not in present and uid not in self._turns]
        for uid in gone:
            await self._drop(uid)
        if gone:
            await self._perform(lambda _: books.let_go(gone, self.holder))
        for each in watched:
            if each.uid in self._leaders and each.holder != self.holder:
                await self._drop(each.uid)
        aging = [
            each.uid for each in watched
            if each.uid in self._leaders and each.held_until is not None
            and (each.held_until - each.now).total_seconds() < ttl * 2 / 3
        ]  # fmt: skip
        if aging:
            kept = await self._perform(lambda _: books.renew(aging, self.holder, ttl))
            for uid in set(aging) - kept:
                await self._drop(uid)

    async def _clean(self, watched: list[Watched]) -> None:
        """Remove what is kept no longer of the tenants whose subscriptions it leads, every few minutes."""
        for tenant, key in {(each.tenant, each.tenant_key) for each in watched if each.uid in self._leaders}:
            if self._cleaning.due(tenant):
                caller = partial(Caller, tenant=tenant, actor=books.ACTOR, tenant_key=key)
                await self._perform(lambda store, caller=caller: self._cleaning.clean(caller(store), relay=True))  # type: ignore[misc]

    async def _lead(self, watched: Watched) -> None:
        """Take a lease that nobody holds. Its turns begin with the next round, which comes at once."""
        held = watched.held_until is not None and watched.held_until > watched.now
        if held or self._stopping.is_set():
            return
        fence = await self._perform(lambda _: books.lead(watched, self.holder, self.settings.lease_seconds))
        if fence is None:
            return
        _log.info("Subscription %s of %s is led by this relay.", watched.spec.name, watched.tenant_key)
        self._leaders[watched.uid] = Leader(self._perform, fence, self.settings.files, self._makers)
        self._more.set()

    async def _drop(self, uid: int) -> None:
        leader = self._leaders.pop(uid, None)
        if leader is not None:
            leader.stopping = True
            await leader.close()

    async def _rest(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._more.wait()
        except TimeoutError:
            pass
