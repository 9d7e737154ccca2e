"""A subscription: how it stands, what it gave up, what failed of late, and what can be done (design 05, Out; design 06, UI)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tenure.engine.caller import Caller
from tenure.ledger import explaining, storage
from tenure.ledger import subscriptions as ledger
from tenure.ledger.rows import Delivery, EventDeadLetter, SubscriptionStanding, WaitingEvent
from tenure.model import euid
from tenure.model.cloud_event import euid_of_thread
from tenure.model.fact import Fact
from tenure.model.roles import Permission
from tenure.model.visibility import Reason
from tenure.sdk import operations as ops
from tenure.store.operation import Op
from tenure.ui import cells, places
from tenure.ui.actions import on_subscriptions
from tenure.ui.actions.action import Action, button
from tenure.ui.components.filters import Filters, narrowed
from tenure.ui.components.heading import Heading
from tenure.ui.components.listing import Listing, ticked
from tenure.ui.components.properties import Properties
from tenure.ui.components.reasons import Reasons
from tenure.ui.components.section import block, section
from tenure.ui.components.tiles import Tiles
from tenure.ui.components.timeline import Timeline
from tenure.ui.screen import Screen
from tenure.ui.screens import story
from tenure.ui.screens.paging import PAGE, Pages, ThreadPages
from tenure.ui.screens.subject import reason_told
from tenure.ui.screens.subscriptions import state
from tenure.wording import subscriptions as wording
from tenure.wording.values import age

_EVENTS = [
    {"key": "event", "label": "Event"}, {"key": "type", "label": "Type"}, {"key": "code", "label": "Last answer"},
    {"key": "tries", "label": "Attempts"}, {"key": "since", "label": "Fails since"}, {"key": "next", "label": "Tried again"},
]  # fmt: skip
_LETTERS = [
    {"key": "letter", "label": "Dead letter", "align": "tight"}, {"key": "event", "label": "Event"},
    {"key": "state", "label": "State"}, {"key": "code", "label": "Answer"},
    {"key": "attempts", "label": "Attempts", "align": "right"}, {"key": "since", "label": "Given up"},
]  # fmt: skip
_DELIVERIES = [
    {"key": "at", "label": "When", "align": "tight"}, {"key": "event", "label": "Of"}, {"key": "outcome", "label": "Outcome"},
    {"key": "code", "label": "Answer"}, {"key": "attempts", "label": "Attempts", "align": "right"},
    {"key": "next", "label": "Tried again"},
]  # fmt: skip
_NO_LETTERS = {
    "title": "Nothing was given up",
    "text": "An event that fails too often, or is refused, waits here for a decision.",
}
_NO_FAILURES = {
    "title": "Nothing failed of late",
    "text": "Attempts that the receiver did not confirm are listed here.",
}
_LAST = 2**63 - 1
_TOLD = 3
"""Of events that wait, so many are among the reasons; all are listed."""
_WAITING = {"thread": "Threads", "correlation": "Groups"}
_WHICH = [("open", "open"), ("all", "resolved, too")]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one look at a subscription shows."""

    standing: SubscriptionStanding
    reasons: Sequence[Reason]
    waiting: Sequence[WaitingEvent]
    letters: Sequence[EventDeadLetter]
    failed: Sequence[Delivery]
    facts: Sequence[Fact]


class SubscriptionScreen(Screen):
    """Everything about one subscription."""

    async def load(self) -> None:
        """How it stands, a page of what it gave up, what failed of late, its facts."""
        self._letter_pages: Pages[int] = getattr(self, "_letter_pages", Pages())
        self._waiting_pages: Pages[int] = getattr(self, "_waiting_pages", Pages())
        self._thread: ThreadPages = getattr(self, "_thread", ThreadPages())
        self._chosen: dict[str, str] = getattr(self, "_chosen", {"letters": "open"})
        self._selected: set[str] = getattr(self, "_selected", set())
        self._seen: _Seen = await self.visitor.read(self._read, Permission.OPERATE)
        self.title = self._seen.standing.subscription.name

    def _read(self, caller: Caller) -> Op[_Seen]:
        standing = yield from ledger.subscription(caller, self.path["name"])
        row, tenant = standing.subscription, caller.tenant
        after, many = self._thread.window(row.seq)
        return _Seen(
            standing=standing, reasons=(yield from explaining.reasons(tenant, standing, _TOLD)),
            waiting=(yield from storage.waiting_events(tenant, row.uid, PAGE + 1, self._waiting_pages.after or 0)),
            letters=(yield from storage.dead_letters(
                tenant, row.uid, PAGE + 1, self._letter_pages.after or _LAST, open_only=self._chosen.get("letters") != "all"
            )),
            failed=(yield from storage.deliveries(tenant, row.uid, PAGE)),
            facts=(yield from ops.facts(caller, row.uid, after_seq=after, limit=many)),
        )  # fmt: skip

    def concerns(self, facts: Sequence[Fact]) -> bool:
        """Its own facts; how far it comes is seen with the time."""
        return any(fact.thread == self._seen.standing.subscription.uid for fact in facts)

    def build(self) -> None:
        """How it stands, what waits for a decision, what failed, what it is, its history."""
        self._heading = Heading(
            title=self.title, mono=True, above={"href": places.SUBSCRIPTIONS, "label": "Subscriptions"}, acts=[]
        )
        self._heading.when("act", self._act)
        self._tiles = Tiles(label="How far it has come", tiles=[])
        with block("tn-section"), section("Why", card=True):
            self._reasons = Reasons(reasons=[])
        with section("What waits") as self._waiting_box:
            self._waiting = Listing(label="What waits", columns=_EVENTS, rows=[], empty=None, walk=False, selected=[])
            self._waiting.when("turn", self._turn_waiting)
            self._waiting.when("act", self._give_up)
        with block("tn-section"):
            self._letters_heading = Heading(title="What it gave up", level=2, acts=[])
            self._letters_heading.when("act", self._decide)
            self._filters = Filters(
                label="Narrow what it gave up",
                fields=[{"name": "letters", "label": "Show", "options": _WHICH[1:], "any": "open"}], values={},
            )  # fmt: skip
            self._filters.when("change", self._narrow)
            self._letters = Listing(
                label="What it gave up",
                columns=_LETTERS,
                rows=[],
                empty=_NO_LETTERS,
                walk=True,
                selectable=True,
                selected=[],
            )
            self._letters.when("turn", self._turn_letters)
            self._letters.when("select", self._select)
        with section("What failed of late"):
            self._failed = Listing(
                label="What failed of late", columns=_DELIVERIES, rows=[], empty=_NO_FAILURES, selected=[]
            )
        with block("tn-section"), block("tn-columns"):
            with block(""), section("Subscription", card=True):
                self._about = Properties(fields=[])
            with block(""), section("History", card=True):
                self._timeline = Timeline(label="History, newest first", entries=[])
                self._timeline.when("turn", self._turn_thread)

    def update(self) -> None:
        """Show what was read."""
        seen, spec = self._seen, self._seen.standing.subscription.spec
        self._shown = self._letter_pages.cut(seen.letters)
        open_ones = {str(letter.uid) for letter in self._shown if letter.status == "OPEN"}
        self._selected &= open_ones
        self._heading.show(
            marks=[state(seen.standing) | {"sub": None}, cells.text(f"to {wording.where(spec.destination)}")], acts=self._buttons(),
            text=f"For {spec.actor}",
        )  # fmt: skip
        self._tiles.show(tiles=_tiles(seen.standing, seen.failed))
        self._reasons.show(reasons=[reason_told(reason) for reason in seen.reasons])
        waits = self._waiting_pages.cut(seen.waiting)
        self._waiting_box.set_visibility(bool(waits) or self._waiting_pages.back)
        self._waiting.show(
            rows=[self._event(each) for each in waits], back=self._waiting_pages.back, more=self._waiting_pages.more
        )  # fmt: skip
        self._letters_heading.show(acts=self._deciding() if open_ones else [])
        self._filters.show(values={"letters": "all"} if self._chosen.get("letters") == "all" else {})
        self._letters.show(
            rows=[_letter(letter) for letter in self._shown], selectable=bool(open_ones), selected=sorted(self._selected),
            back=self._letter_pages.back, more=self._letter_pages.more,
        )  # fmt: skip
        self._failed.show(rows=[_delivery(n, each) for n, each in enumerate(seen.failed)])
        self._about.show(fields=_about(seen.standing))
        self._timeline.show(
            entries=story.of_thread(seen.facts, {}), back=self._thread.back, more=self._thread.more
        )  # fmt: skip

    def _buttons(self) -> list[dict[str, Any]]:
        standing, may = self._seen.standing, Permission.ADMINISTER
        enabled = standing.subscription.enabled
        resting = None if enabled else "It rests: resume it first."
        acts = [
            button(self.visitor, "test", "Test", may, unless=resting),
            button(self.visitor, "pause", "Pause", may) if enabled
            else button(self.visitor, "resume", "Resume", may, tone="primary"),
        ]  # fmt: skip
        if standing.subscription.spec.destination.kind == "webhook":
            acts.append(button(self.visitor, "rotate", "Rotate key", may))
            if len(standing.keys) > 1:
                acts.append(button(self.visitor, "drop", "Drop former key", may))
        return [*acts, button(self.visitor, "remove", "Remove", may, tone="danger")]

    def _deciding(self) -> list[dict[str, Any]]:
        count = len(self._selected)
        none = None if count else "Select at least one."
        suffix = f" {count}" if count > 1 else ""
        return [
            button(
                self.visitor,
                "redeliver",
                f"Send once more{suffix and ':' + suffix}",
                Permission.OPERATE,
                unless=none,
            ),
            button(self.visitor, "ignore", f"Ignore{suffix}", Permission.OPERATE, unless=none),
        ]

    def _act(self, name: str) -> None:
        subscription = self._seen.standing.subscription.name
        deeds: dict[str, Callable[..., Action]] = {
            "test": on_subscriptions.test, "pause": on_subscriptions.pause, "resume": on_subscriptions.resume,
            "rotate": on_subscriptions.rotate, "drop": on_subscriptions.drop_former, "remove": on_subscriptions.remove,
        }  # fmt: skip
        if name in deeds:
            self.page.ask(deeds[name](self.visitor, subscription))

    def _decide(self, name: str) -> None:
        chosen = [letter for letter in self._shown if str(letter.uid) in self._selected]
        deeds = {"redeliver": on_subscriptions.redeliver, "ignore": on_subscriptions.ignore}
        if chosen and name in deeds:
            self.page.ask(deeds[name](self.visitor, self._seen.standing.subscription.name, chosen))

    def _event(self, event: WaitingEvent) -> dict[str, Any]:
        most = self._seen.standing.subscription.spec.max_attempts
        given_up = event.give_up_seq is not None
        since = (
            "is given up at the relay's next turn"
            if given_up
            else f"as of {event.group_key}"
            if event.group_key
            else None
        )
        act = button(
            self.visitor, "give-up", "Give up", Permission.OPERATE, tone="danger",
            unless="It is to be given up already." if given_up else None,
        )  # fmt: skip
        return {
            "key": event.event, "name": event.event, "acts": [act],
            "cells": [
                cells.mono(event.event, href=places.search(event.event.partition("/")[0]), sub=since), cells.text(event.type),
                cells.mono(event.code) if event.code else cells.text("has its turn", tone="quiet"),
                cells.text(f"{event.attempts} of {most} count", sub=f"{event.tries} tries"),
                cells.since(event.first_failed_at), cells.until(event.next_attempt_at),
            ],
        }  # fmt: skip

    def _give_up(self, act: dict[str, str]) -> None:
        if any(each.event == act["key"] for each in self._seen.waiting):
            name = self._seen.standing.subscription.name
            self.page.ask(on_subscriptions.give_up(self.visitor, name, act["key"]))

    async def _turn_waiting(self, way: str) -> None:
        shown_now = self._seen.waiting[:PAGE]
        self._waiting_pages.turn(str(way), shown_now[-1].position if shown_now else None)
        await self.page.refresh()

    def _select(self, change: dict[str, Any]) -> None:
        self._selected = ticked(self._selected, change)
        self.update()

    async def _narrow(self, change: dict[str, Any]) -> None:
        self._chosen = narrowed(self._chosen, change)
        self._letter_pages.restart()
        await self.page.refresh()

    async def _turn_letters(self, way: str) -> None:
        self._letter_pages.turn(str(way), self._shown[-1].uid if self._shown else None)
        await self.page.refresh()

    async def _turn_thread(self, way: str) -> None:
        self._thread.leaf(str(way))
        await self.page.refresh()


def _tiles(standing: SubscriptionStanding, failed: Sequence[Delivery]) -> list[dict[str, Any]]:
    said = standing.succeeded_at
    refused = failed[0] if failed and (said is None or failed[0].at > said) else None
    last = cells.since(refused.at if refused is not None else said)
    return [
        {"label": "Last answer", "cell": last, "note": refused.code if refused is not None else "confirmed" if said else None,
         "tone": "bad" if standing.failures else "warn" if refused is not None else None},
        {"label": "Oldest unsent", "cell": cells.since(standing.oldest_at)},
        {"label": "Positions behind", "cell": cells.number(standing.behind)},
        {"label": "Delivered", "cell": cells.number(standing.delivered)},
        {"label": "Attempts that failed", "cell": cells.number(standing.failed)},
        {"label": f"{_WAITING[standing.subscription.spec.group_by]} that wait", "cell": cells.number(standing.parked),
         "tone": "warn" if standing.parked else None},
        {"label": "Given up", "cell": cells.number(standing.open_dead_letters),
         "tone": "bad" if standing.open_dead_letters else None},
    ]  # fmt: skip


def _letter(letter: EventDeadLetter) -> dict[str, Any]:
    name, thread = euid.format_euid(euid.EVENT_DEAD_LETTER, letter.uid), euid_of_thread(letter.type, letter.thread)
    resolved = f"{letter.reason or ''}, by {letter.resolved_by}".lstrip(", ") if letter.resolved_by else None
    return {
        "key": str(letter.uid), "name": name,
        "cells": [
            cells.mono(name), cells.link(letter.type, places.search(thread), sub=f"fact #{letter.fact_seq} of {thread}"),
            cells.state(letter.status, sub=resolved), cells.mono(letter.code), cells.text(letter.attempts),
            cells.since(letter.opened_at),
        ],
    }  # fmt: skip


def _delivery(number: int, delivery: Delivery) -> dict[str, Any]:
    thread = euid_of_thread(delivery.type or "", delivery.thread)
    again = cells.until(delivery.next_attempt_at) if delivery.next_attempt_at else cells.text("no more", tone="quiet")
    return {
        "key": f"{delivery.position}/{delivery.at.timestamp()}/{number}", "name": f"attempt at {delivery.position}",
        "cells": [
            cells.since(delivery.at),
            cells.link(delivery.type or "archived", places.search(thread), sub=f"position {delivery.position:,} of {thread}"),
            cells.text(delivery.outcome), cells.mono(delivery.code), cells.text(delivery.attempts), again,
        ],
    }  # fmt: skip


def _about(standing: SubscriptionStanding) -> list[dict[str, Any]]:
    row, spec = standing.subscription, standing.subscription.spec
    backoff = spec.backoff
    told = [
        ("Subscription", cells.mono(euid.format_euid(euid.SUBSCRIPTION, row.uid))),
        ("To", cells.mono(getattr(spec.destination, "url", wording.where(spec.destination)))),
        ("Wants", cells.text(wording.wants(standing))),
        ("Lane", cells.text(f"delayed by {spec.window_seconds} s" if spec.window_seconds else str(spec.lane))),
        ("In order by", cells.text(spec.group_by)),
        ("What is refused", cells.text("is given up, and the others go on" if spec.on_poison == "skip" else "stops it")),
        ("Attempts at most", cells.text(spec.max_attempts)),
        ("Between attempts", cells.text(f"{age(backoff.initial_delay_seconds)} to {age(backoff.max_delay_seconds)}")),
        ("Signed with", cells.text(", ".join(f"key {number}" for number in standing.keys)) if standing.keys else None),
        ("Led by", cells.mono(standing.leader) if standing.leader else cells.text("nobody", tone="quiet")),
        ("Receiver away since", cells.since(standing.failing_since) if standing.failing_since else None),
        ("Tried again", cells.until(standing.resume_at) if standing.resume_at else None),
        ("Position", cells.text(f"{standing.position:,}")),
        ("Defined", cells.since(row.created_at)),
    ]  # fmt: skip
    return [{"label": label, "cell": cell} for label, cell in told if cell is not None]
