"""One open page of one person: its frame, the screen in it, and the loop that keeps it live."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from contextlib import aclosing
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import psycopg
from nicegui import Client, background_tasks, ui
from nicegui.element import Element

from tenure.api.live.following import Following
from tenure.engine import clock
from tenure.engine.logging import where
from tenure.model.errors import NotFound, TenureError, Unauthenticated
from tenure.model.json_text import instant
from tenure.ui import desk, places
from tenure.ui.actions import on_desk
from tenure.ui.actions.action import Action
from tenure.ui.actions.dialog import Dialog
from tenure.ui.components.notices import Notices
from tenure.ui.components.shell import Shell
from tenure.ui.frame import keys, navigation
from tenure.ui.screen import Screen
from tenure.ui.screens import route
from tenure.ui.screens.problem import ProblemScreen
from tenure.ui.visitor import Visitor

_log = logging.getLogger("tenure.ui")
_SPACING = 1.0
"""Seconds between two looks at least, however much happens."""
_QUIET = 5.0
"""Seconds after which a page looks again although nothing happened: leases lapse and heartbeats stop without a fact."""
_PULSE = 2.0
"""Seconds between two tries while the database is away."""
_PATIENCE = 3.0
"""Seconds after which a look that has no answer counts as trouble."""
#: What may go wrong with a screen; anything else is a defect of ours and gets a number.
_KNOWN = (TenureError, psycopg.OperationalError, psycopg.InterfaceError, TimeoutError)
_AWAY = "The database does not answer"


class Page:
    """Shows screens to one visitor. All that changes it goes through one lock, one thing after the other."""

    def __init__(self, client: Client, visitor: Visitor, following: Following) -> None:
        self.visitor = visitor
        self._client = client
        self._following = following
        self._looked = 0.0
        self._well = True
        self._screen: Screen | None = None
        self._address = places.DASHBOARD
        self._visible = True
        self._turn = asyncio.Lock()
        self._stale = True
        self._live: asyncio.Task[None] | None = None

    async def start(self, address: str) -> None:
        """Build the frame with the first screen in it. Raises Unauthenticated; the visitor has been proved."""
        identity = self.visitor.identity
        person = {
            "name": identity.actor, "display": identity.principal.display_name or identity.actor.partition(":")[2],
            "roles": sorted(str(role) for role in identity.roles),
        }  # fmt: skip
        self._shell = Shell(
            person=person, tenant=identity.tenant_key, places=navigation(self.visitor.may), keys=keys(self.visitor.may),
            current="", trouble=None, now=None, busy=False,
        )  # fmt: skip
        self._shell.when("open", self.open)
        self._shell.when("visible", self._seen)
        self._shell.when("leave", self._sign_out)
        with self._shell:
            self._content: Element = Element("div")
            self._notices = Notices()
            self._dialog = Dialog(self._notices, self.refresh)
        await self._show(address)
        self._entitle()
        self._client.on_connect(self._begin)
        self._client.on_disconnect(self._end)

    def ask(self, action: Action) -> None:
        """Open the form of an action."""
        self._dialog.ask(action)

    def say(self, text: str, *, href: str | None = None, link: str = "", tone: str | None = None) -> None:
        """Show a message."""
        self._notices.say(text, href=href, link=link, tone=tone)

    async def open(self, address: str) -> None:
        """Change to the screen of an address, in place."""
        async with self._turn:
            try:
                await self._prove()
            except Unauthenticated:
                self._leave()
                return
            except _KNOWN as error:
                self._trouble(error)
            await self._show(str(address))
            self._shell.run_method("arrived", self._title(), address)

    async def visit(self, address: str) -> None:
        """Lead the browser to an address of these screens, in place."""
        self._shell.run_method("visit", address)

    async def refresh(self) -> None:
        """Look again, at once."""
        async with self._turn:
            await self._look()

    async def _show(self, address: str) -> None:
        self._address = address
        parts = urlsplit(address)
        kind, path = route.found(unquote(parts.path).removeprefix(places.MOUNT))
        screen = kind(self, path, dict(parse_qsl(parts.query)))
        try:
            await self._loaded(screen)
            if (other := screen.elsewhere()) is not None:
                self._shell.run_method("replace", other)
            self._put(screen)
            self._stale = False
        except _KNOWN as error:
            self._trouble(error)
            self._put(ProblemScreen.of(self, error))
            self._stale = not isinstance(error, NotFound)
        except Exception as error:
            self._put(ProblemScreen.of(self, self._incident(error)))
            self._stale = True
        with self._client:
            self._shell.show(current=route.place_of(parts.path))

    def _put(self, screen: Screen) -> None:
        self._screen = screen
        with self._client:
            self._content.clear()
            with self._content:
                screen.build()
                screen.update()

    async def _look(self) -> None:
        if self._client.is_deleted:
            return
        try:
            await self._prove()
            if self._stale or self._screen is None:
                await self._show(self._address)
                self._entitle()
                return
            await self._loaded(self._screen)
            with self._client:
                self._screen.update()
        except Unauthenticated:
            self._leave()
        except NotFound:
            self._stale = True
        except _KNOWN as error:
            self._trouble(error)
        except Exception as error:
            self._incident(error)

    async def _prove(self) -> None:
        async with asyncio.timeout(_PATIENCE):
            await self.visitor.prove()

    async def _loaded(self, screen: Screen) -> None:
        async with asyncio.timeout(_PATIENCE):
            await screen.load()
            now = await self.visitor.read(clock.now)
        self._looked, self._well = time.monotonic(), True
        self._shell.show(now=instant(now), trouble=None)

    def _trouble(self, error: BaseException) -> None:
        if isinstance(error, NotFound):
            return
        self._well = False
        if isinstance(error, TenureError) and error.status != 503:
            told = {"title": error.message, "text": error.hint}
        else:
            told = {
                "title": f"{_AWAY}.",
                "text": "What you see may be old. This page goes on by itself as soon as it is back.",
            }
        self._shell.show(trouble=told)

    def _incident(self, error: Exception) -> TenureError:
        incident = secrets.token_hex(6)
        _log.error("Incident %s: a screen failed unexpectedly: %s", incident, where(error))
        told = TenureError(
            f"Something went wrong that should not. Incident {incident}.",
            "Give the number to whoever runs this server: the log has the details.",
        )
        self._trouble(told)
        return told

    def _leave(self) -> None:
        with self._client:
            ui.navigate.to(places.sign_in(self._address).removeprefix(places.MOUNT))

    async def _sign_out(self, _: Any) -> None:
        """End the session; what the person holds is given back first, since its leases end with the session."""
        try:
            held = await self.visitor.read(desk.held)
        except (*_KNOWN, Unauthenticated):
            held = []
        if held:
            self.ask(on_desk.give_back(self.visitor, held, lambda: self._shell.run_method("signOut")))
        else:
            self._shell.run_method("signOut")

    def _entitle(self) -> None:
        with self._client:
            ui.page_title(self._title())

    def _title(self) -> str:
        return f"{self._screen.title} · Tenure" if self._screen is not None else "Tenure"

    async def _seen(self, visible: bool) -> None:
        came_back, self._visible = visible and not self._visible, bool(visible)
        if came_back:
            await self.refresh()

    def _begin(self) -> None:
        if self._live is None or self._live.done():
            self._live = background_tasks.create(self._keep_live(), name="tenure: a page is kept live")

    def _end(self) -> None:
        if self._live is not None:
            self._live.cancel()
            self._live = None

    async def _keep_live(self) -> None:
        while not self._client.is_deleted:
            try:
                await self._follow()
            except _KNOWN as error:
                self._trouble(error)
            await asyncio.sleep(_PULSE)

    async def _follow(self) -> None:
        """Look again as soon as the ledger tells of something that the screen shows."""
        async with aclosing(self._following.listen(self.visitor.identity, None, _PULSE)) as listening:
            async for facts, _ in listening:
                if not self._visible or self._client.is_deleted:
                    continue
                told = bool(facts) and (self._screen is None or self._screen.concerns(facts))
                if told or not self._well or time.monotonic() - self._looked >= _QUIET:
                    await self.refresh()
                    await asyncio.sleep(_SPACING)
