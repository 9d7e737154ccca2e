"""What happens in one turn of a leader, kept until it is written down."""

from __future__ import annotations

import logging
from collections.abc import Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta

from tenure.ledger.relaying.books import Behind, Given, Settlement
from tenure.ledger.rows import Delivery, Parked, Watched
from tenure.model.backoff import retry_delay
from tenure.model.cloud_event import thread_euid
from tenure.model.delivery import Outcome, Receiver, Verdict, counted
from tenure.model.fact import Fact

BY_HAND = Verdict(Outcome.REFUSED, "given_up_by_hand")


class Turn:
    """One turn. ``tried``: positions that were sent, whatever came of it; ``handled``: those that were delivered or given up;
    ``blocked``: lines that wait since this turn; ``through``: lines that wait no more. A line is what keeps its order: a
    thread, or a group of them.
    """

    def __init__(self, watched: Watched, position: int, doubtful: set[int | str]) -> None:
        self.watched = watched
        self.receiver = Receiver(
            watched.spec.backoff, watched.uid, watched.now, watched.failures, watched.failing_since,
            watched.failing_with, watched.resume_at, watched.succeeded_at, doubtful,
        )  # fmt: skip
        self.settlement = Settlement(position, self.receiver)
        self.probing = watched.failures > 0
        self.strict = watched.spec.on_poison == "stop"
        self.tried: set[int] = set()
        self.handled: set[int] = set()
        self.blocked: set[int | str] = set()
        self.through: set[int | str] = set()
        self.groups: dict[int, str] = {}
        """The group of each thread that is in one."""
        self._last: Verdict | None = None

    def line(self, fact: Fact) -> int | str:
        """What keeps its order, of which a fact is part."""
        return self.groups.get(fact.thread, fact.thread)

    def rested(self, fact: Fact) -> bool:
        """Whether the window of a delayed lane is over for a fact."""
        window = self.watched.spec.window_seconds
        return window is None or fact.at <= self.watched.now - timedelta(seconds=window)

    def heard(self, fact: Fact, verdict: Verdict, former: Parked | None) -> bool:
        """Take in what became of an event, which waited before as ``former`` says; whether its line goes on."""
        self.receiver.heard(verdict, self.line(fact))
        self.tried.add(fact.position or 0)
        if verdict.outcome is Outcome.DELIVERED:
            self.settlement.delivered += 1
            self.handled.add(fact.position or 0)
            return True
        self._last = verdict
        before = former or self._anew(fact)
        failed = self._failed_again(before, verdict)
        poison = verdict.outcome is Outcome.REFUSED or (
            verdict.outcome is Outcome.FAILED and failed.attempts >= self.watched.spec.max_attempts
        )
        following: datetime | None = None
        if poison:
            self._give_up(fact, verdict, failed)
        elif verdict.outcome is Outcome.FAILED:
            self._park(failed, former)
            following = failed.next_attempt_at
        else:
            following = self.receiver.resume_at
        self.settlement.failed.append(Delivery(
            failed.position, fact.thread, failed.attempts, self.watched.now, str(verdict.outcome), verdict.code,
            verdict.status, following,
        ))  # fmt: skip
        return poison and not self.settlement.stopped

    def _failed_again(self, before: Parked, verdict: Verdict) -> Parked:
        """How an event waits after one more failure; that the receiver is down says nothing about the event."""
        now, attempts = self.watched.now, before.attempts
        if verdict.outcome is not Outcome.DOWN:
            attempts = counted(attempts, before.failed_at, self.receiver.succeeded_at, every=self.strict)
        pause = retry_delay(self.watched.spec.backoff, before.tries + 1, before.thread)
        return replace(
            before, attempts=attempts, tries=before.tries + 1, first_failed_at=before.first_failed_at or now, failed_at=now,
            next_attempt_at=now + pause, code=verdict.code,
        )  # fmt: skip

    def given_up_by_hand(self, fact: Fact, row: Parked) -> None:
        """A person gave up an event that waited: it is dead-lettered unsent, and nothing stops over it."""
        self.handled.add(row.position)
        self.receiver.doubtful.discard(row.line)
        since = row.first_failed_at or self.watched.now
        self.settlement.given_up.append(Given(fact, BY_HAND, row.attempts, since, row.give_up_seq))

    def read(self, row: Parked, behind: Behind) -> None:
        """What was read of what waits: where that is a group, all of it is of that group."""
        if row.group_key is not None:
            read = [*behind.facts, behind.rest] if behind.rest is not None else behind.facts
            self.groups.update(dict.fromkeys((fact.thread for fact in read), row.group_key))

    def progressed(self, row: Parked, behind: Behind) -> None:
        """What waited was sent as far as it went: ``behind`` is what was read of it, from its position on."""
        left = next((fact for fact in behind.facts if fact.position not in self.handled), behind.rest)
        if left is not None and left.position == row.position:
            return  # it waits as before, or by a row that is written already
        self.settlement.unparked.append(row.position)
        if row.group_key is not None:
            self.settlement.released[row.group_key] = self.settlement.position if left is None else left.position or 0
        if row.alone or row.line in self.blocked:
            return
        if left is None:
            self.through.add(row.line)
        else:
            self.settlement.parked.append(self._anew(left))

    def passed(self, facts: Sequence[Fact], waiting: Set[int | str], ahead: Set[int]) -> None:
        """The cursor goes past these facts: those whose group waits are noted, so that they are found again."""
        heads = {row.position for row in self.settlement.parked}
        for fact in facts:
            position, group = fact.position or 0, self.groups.get(fact.thread)
            done = position in self.handled or position in ahead or position in heads
            if group is not None and not done and (group in waiting or group in self.blocked):
                self.settlement.held.append((group, position))

    def end_probe(self) -> None:
        """A receiver that was tried and took nothing is away still."""
        if self.probing and self.receiver.failures and self._last is not None:
            self.receiver.halt(self._last)
        self.settlement.back = self.probing and not self.receiver.failures

    def worth_writing(self, every: float, past: int) -> bool:
        """Whether there is anything to write down, beyond a cursor that has moved a little over what nobody wants."""
        done, watched = self.settlement, self.watched
        if done.delivered or done.failed or done.parked or done.unparked or done.given_up or done.held:
            return True
        moved = done.position - watched.position
        return moved > past or (moved > 0 and (watched.now - watched.moved_at).total_seconds() >= every)

    def tell(self, log: logging.Logger) -> None:
        """Say in the log what somebody should know of."""
        name, watched = self.watched.spec.name, self.watched
        if self.receiver.halted:
            log.warning(
                "Subscription %s of %s: its receiver takes nothing (%s); tried again at %s, for the %d. time.",
                name, watched.tenant_key, self.receiver.failing_with, self.receiver.resume_at, self.receiver.failures,
            )  # fmt: skip
        elif self.settlement.back:
            log.info("Subscription %s of %s: its receiver is back.", name, watched.tenant_key)
        for given in self.settlement.given_up:
            log.warning(
                "Subscription %s of %s: %s, number %d of %s, was given up (%s).", name, watched.tenant_key, given.fact.type,
                given.fact.seq, thread_euid(given.fact), given.verdict.code,
            )  # fmt: skip
        if self.settlement.stopped:
            log.error("Subscription %s of %s has stopped: a person must let it go on.", name, watched.tenant_key)

    def _park(self, row: Parked, former: Parked | None) -> None:
        if former is not None and former.position != row.position:
            self.settlement.unparked.append(former.position)
        self.settlement.parked.append(row)
        if not row.alone:
            self.blocked.add(row.line)

    def _anew(self, fact: Fact) -> Parked:
        """How a line waits from an event on that has not failed yet."""
        now, group = self.watched.now, self.groups.get(fact.thread)
        return Parked(fact.position or 0, fact.thread, False, 0, 0, None, None, now, None, group)

    def _give_up(self, fact: Fact, verdict: Verdict, failed: Parked) -> None:
        self.handled.add(failed.position)
        since = failed.first_failed_at or self.watched.now
        self.settlement.given_up.append(Given(fact, verdict, failed.attempts, since))
        self.settlement.stopped = self.strict
