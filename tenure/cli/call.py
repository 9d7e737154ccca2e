"""One invocation of the command: for whom, on which database, and how it answers."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import typer
from rich.console import Console, RenderableType

from tenure.model.errors import NotFound
from tenure.sdk.client import Tenure
from tenure.sdk.public_form import public
from tenure.sdk.settings import DEFAULT_TENANT
from tenure.sdk.tenants import tenant_exists

_WIDE = 1000


def _console(*, stderr: bool = False) -> Console:
    # Without markup: what users typed is never taken for a style. What no terminal shows is for programs: nothing is folded.
    made = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = _WIDE
    return made


@dataclass
class Call:
    """The global options of one invocation, and what a command needs to answer."""

    dsn: str | None = None
    tenant: str | None = None
    actor: str | None = None
    json: bool = False
    verbose: bool = False
    out: Console = field(default_factory=_console)
    err: Console = field(default_factory=lambda: _console(stderr=True))

    @cached_property
    def client(self) -> Tenure:
        """The client of this invocation; ``close`` closes it. Raises NotFound for a tenant that is not there."""
        client = self.founding_client
        settings = client.settings
        if settings.tenant != DEFAULT_TENANT and not tenant_exists(settings.dsn, settings.tenant):
            raise NotFound(
                f"There is no tenant {settings.tenant!r}.",
                "Check it; to make it, define its first queue: tenure --tenant KEY queue define QUEUE.",
            )
        return client

    @cached_property
    def founding_client(self) -> Tenure:
        """The same client, which makes its tenant where it is not there."""
        client = Tenure(self.dsn, tenant=self.tenant, actor=self.actor, max_connections=2, create_tenant=True)
        client.reach_the_database()  # commands speak to it, though TENURE_URL may be set for others
        return client

    def answer(self, value: Any, *rendered: RenderableType) -> None:
        """One answer: a JSON document, or what was rendered for people."""
        if self.json:
            self.document(value)
        else:
            self.say(*rendered)

    def answer_each(self, values: Iterable[Any], *rendered: RenderableType) -> None:
        """A list: JSON Lines, or what was rendered for people."""
        if self.json:
            for value in values:
                self.document(value)
        else:
            self.say(*rendered)

    def document(self, value: Any) -> None:
        """Write one JSON document on a line of its own."""
        sys.stdout.write(json.dumps(public(value), default=str) + "\n")
        sys.stdout.flush()

    def say(self, *rendered: RenderableType) -> None:
        """Write for people; nothing in JSON mode."""
        if not self.json:
            for each in rendered:
                # A terminal that is too narrow for a table breaks its lines; what is cut off would be lost.
                self.out.width = max(self.out.width, getattr(each, "at_least", 0))
                self.out.print(each, crop=False)

    def close(self) -> None:
        """Close the client's connections, if there are any."""
        if "founding_client" in self.__dict__:
            self.founding_client.close()


def call_of(context: typer.Context) -> Call:
    """The call that a command belongs to."""
    found: Call = context.find_object(Call) or Call()
    return found
