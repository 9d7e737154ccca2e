"""Until when an agent may submit."""

from __future__ import annotations

from tenure.agent.lease import NodeLease


class Host:
    """A clock that is set, and what is rung for."""

    def __init__(self) -> None:
        self.at, self.rung = 1000.0, 0
        self.lease = NodeLease(self.ring, lambda: self.at)

    def ring(self) -> None:
        self.rung += 1


def test_before_the_first_answer_nothing_may_be_submitted() -> None:
    assert not Host().lease.holds()


def test_it_holds_from_when_the_poll_was_sent_and_not_from_its_answer() -> None:
    host = Host()
    asked_at = host.lease.now()
    host.at += 25
    host.lease.confirmed(asked_at, 30)
    assert host.lease.holds()
    host.at += 5
    assert not host.lease.holds()


def test_who_waits_for_it_is_woken_when_it_is_there_again_and_not_each_time() -> None:
    host = Host()
    for _ in range(3):
        host.lease.confirmed(host.at, 30)
    assert host.rung == 1
    host.at += 60
    host.lease.confirmed(host.at - 45, 30)
    assert (host.lease.holds(), host.rung) == (False, 1), "that answer was too late"
    host.lease.confirmed(host.at, 30)
    assert (host.lease.holds(), host.rung) == (True, 2)


def test_a_server_of_before_gives_it_for_ever() -> None:
    host = Host()
    host.lease.confirmed(host.at, None)
    host.at += 1e9
    assert host.lease.holds()
