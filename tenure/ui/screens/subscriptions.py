"""Subscriptions: where events go, how far each has come, what its receiver said last (design 05, Out). For admins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenure.ledger import subscriptions as ledger
from tenure.ledger.rows import SubscriptionStanding
from tenure.model.fact import Fact
from tenure.model.roles import Permission
from tenure.ui import cells, places
from tenure.ui.components.heading import Heading
from tenure.ui.components.listing import Listing
from tenure.ui.screen import Screen
from tenure.wording import subscriptions as wording

_COLUMNS = [
    {"key": "subscription", "label": "Subscription"}, {"key": "to", "label": "To"}, {"key": "state", "label": "State"},
    {"key": "answer", "label": "Last answer"}, {"key": "oldest", "label": "Oldest unsent"},
    {"key": "behind", "label": "Behind", "align": "right"}, {"key": "delivered", "label": "Delivered", "align": "right"},
    {"key": "waiting", "label": "Waiting", "align": "right"}, {"key": "letters", "label": "Given up", "align": "right"},
]  # fmt: skip
_EMPTY = {
    "title": "Nothing is subscribed",
    "text": "A subscription sends events to a receiver: signed, at least once, each thread in order. Define one:",
    "code": "tenure subscription define NAME --url https://HOST/PATH --type 'run.terminal'",
}


class Subscriptions(Screen):
    """All subscriptions in use, by name."""

    title = "Subscriptions"

    async def load(self) -> None:
        """Each with how far it has come."""
        self._standings = await self.visitor.read(ledger.subscriptions, Permission.OPERATE)

    def build(self) -> None:
        """The list."""
        Heading(title=self.title)
        self._listing = Listing(label=self.title, columns=_COLUMNS, rows=[], empty=_EMPTY, walk=True, selected=[])

    def update(self) -> None:
        """Show what was read."""
        self._listing.show(rows=[_row(standing) for standing in self._standings])

    def concerns(self, facts: Sequence[Fact]) -> bool:
        """Whatever happens to subscriptions; how far they come is seen with the time."""
        return any(fact.type.startswith("subscription.") for fact in facts)


def _row(standing: SubscriptionStanding) -> dict[str, Any]:
    spec = standing.subscription.spec
    href = places.subscription(spec.name)
    return {
        "key": spec.name, "name": spec.name, "href": href, "tone": None if standing.subscription.enabled else "off",
        "cells": [
            cells.mono(spec.name, href=href, sub=spec.actor),
            cells.text(wording.where(spec.destination), sub=spec.destination.kind),
            state(standing), answer(standing), cells.since(standing.oldest_at),
            cells.number(standing.behind), cells.number(standing.delivered),
            cells.number(standing.parked, tone="warn"), cells.number(standing.open_dead_letters, tone="bad"),
        ],
    }  # fmt: skip


def state(standing: SubscriptionStanding) -> cells.Cell:
    """How it stands: whether it delivers, rests, or cannot, and why."""
    told = wording.status(standing)
    why = None
    if told == "rests" and standing.subscription.spec.on_poison == "stop" and standing.open_dead_letters:
        why = "it stops at what is refused"
    elif told == "no relay":
        why = "no process sends its events"
    elif told == "receiver away":
        why = standing.failing_with
    return cells.state(told, sub=why)


def answer(standing: SubscriptionStanding) -> cells.Cell:
    """What its receiver said last, and when."""
    if standing.failures and standing.failing_since is not None:
        again = f"{standing.failures} times in a row"
        return cells.since(standing.failing_since, before=f"{standing.failing_with} since") | {"sub": again}
    if standing.succeeded_at is None:
        return cells.text("nothing confirmed yet", tone="quiet")
    return cells.since(standing.succeeded_at, before="confirmed")
