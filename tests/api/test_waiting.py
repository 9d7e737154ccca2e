"""Long polls: answered at once where there is work, else when it comes, and never with a lease for nobody."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import httpx
import pytest

from tenure.api.live.lines import Lines
from tenure.api.live.waiting import Waiting
from tenure.api.settings import ServerSettings
from tenure.model.principal import Identity, Principal
from tests.api.conftest import Running, Site
from tests.api.documented import PREFIX
from tests.waiting import until


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(40) as threads:
        yield threads


def waiting(site: Site) -> int:
    return len(site.server.application.state.waiting.lines)


def test_work_that_is_there_is_answered_at_once(site: Site) -> None:
    subject = site.admin.submit()
    worker = site.worker.register()
    began = time.monotonic()

    [lease] = site.worker.claim(worker, wait_seconds=30)

    assert lease["subject"] == subject
    assert time.monotonic() - began < 5


def test_an_empty_queue_is_answered_with_nothing_when_the_time_is_up(site: Site) -> None:
    assert site.worker.claim(site.worker.register(), wait_seconds=0.2) == []


def test_work_that_comes_wakes_who_waits(site: Site, pool: ThreadPoolExecutor) -> None:
    worker = site.worker.register()
    answer = pool.submit(site.worker.claim, worker, wait_seconds=30)
    until(lambda: waiting(site) == 1)
    began = time.monotonic()

    subject = site.admin.submit()

    assert [lease["subject"] for lease in answer.result(10)] == [subject]
    assert time.monotonic() - began < 5
    assert waiting(site) == 0


def test_many_subjects_at_once_wake_as_many(site: Site, pool: ThreadPoolExecutor) -> None:
    workers = [site.worker.register(f"w{n}") for n in range(12)]
    answers = [pool.submit(site.worker.claim, worker, wait_seconds=30) for worker in workers]
    until(lambda: waiting(site) == 12)

    site.trusted.submit_many([{"queue_key": "q"} for _ in range(12)])

    taken = [lease["subject"] for answer in answers for lease in answer.result(10)]
    assert len(set(taken)) == 12


def test_one_subject_wakes_one_and_leaves_the_others_alone(site: Site, pool: ThreadPoolExecutor) -> None:
    workers = [site.worker.register(f"w{n}") for n in range(8)]
    answers = [pool.submit(site.worker.claim, worker, wait_seconds=3) for worker in workers]
    until(lambda: waiting(site) == 8)
    looks = site.server.application.state.gateway.use()["requests_num"]

    site.admin.submit()
    taken = [lease for answer in answers for lease in answer.result(10)]

    assert len(taken) == 1
    # The submission, a look of the one and of the two after it, a look ahead each two seconds, each with its sign-in.
    assert site.server.application.state.gateway.use()["requests_num"] - looks < 20


def test_work_that_falls_due_wakes_who_waits(site: Site, pool: ThreadPoolExecutor) -> None:
    subject = site.admin.submit(ready_at="2090-01-01T00:00:00Z")
    worker = site.worker.register()
    answer = pool.submit(site.worker.claim, worker, wait_seconds=30)
    until(lambda: waiting(site) == 1)

    site.admin.act("requeue", subject_euid=subject, ready_at=None, priority=3)

    assert [lease["subject"] for lease in answer.result(10)] == [subject]


def test_a_lapsed_lease_wakes_who_waits(site: Site, pool: ThreadPoolExecutor) -> None:
    subject = site.admin.submit()
    site.worker.claim(site.worker.register("lost"), ttl_seconds=30)
    worker = site.worker.register()
    answer = pool.submit(site.worker.claim, worker, wait_seconds=30)
    until(lambda: waiting(site) == 1)

    site.server.settings.clock.advance(seconds=31)  # type: ignore[union-attr, call-arg]

    assert [lease["subject"] for lease in answer.result(15)] == [subject]


def hang_up_on(site: Site, body: dict[str, Any]) -> None:
    """Send a claim, and hang up once it waits."""
    request = httpx.Request("POST", site.server.url + PREFIX + "/actions/claim", json=body,
                            headers={"Authorization": f"Bearer {site.worker.secret}"})  # fmt: skip
    head = f"POST {request.url.raw_path.decode()} HTTP/1.1\r\n" + "".join(
        f"{k}: {v}\r\n" for k, v in request.headers.items()
    )
    with socket.create_connection((request.url.host, request.url.port)) as line:
        line.sendall(head.encode() + b"\r\n" + request.read())
        until(lambda: waiting(site) == 1)


def test_a_client_that_hung_up_takes_no_lease(site: Site) -> None:
    worker = site.worker.register()
    hang_up_on(site, {"worker_euid": worker["euid"], "queue_key": "q", "wait_seconds": 30})
    until(lambda: waiting(site) == 0)

    subject = site.admin.submit()

    assert site.admin.get("/leases", status="ACTIVE")["items"] == []
    [lease] = site.worker.claim(worker)
    assert lease["subject"] == subject


def test_what_was_taken_for_a_client_that_is_gone_is_given_back(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from starlette.requests import Request

    async def gone(_: Request) -> bool:
        return True

    subject = site.admin.submit()
    worker = site.worker.register()
    monkeypatch.setattr(Request, "is_disconnected", gone)
    answer = site.worker.claim(worker, start=True)
    monkeypatch.undo()

    assert answer == []
    assert [lease["subject"] for lease in site.worker.claim(worker)] == [subject]


def test_a_refusal_ends_the_wait(site: Site) -> None:
    worker = site.worker.register()
    site.admin.act("drain-worker", worker_euid=worker["euid"])

    assert (
        site.worker.refused("claim", worker_euid=worker["euid"], queue_key="q", wait_seconds=30)
        == "worker_not_accepting"
    )
    assert (
        site.worker.refused("claim", worker_euid=worker["euid"], queue_key="none", wait_seconds=30) == "queue_unknown"
    )


def test_everybody_goes_home_when_the_server_stops(
    site: Site, make_server: Callable[[ServerSettings], Running], pool: ThreadPoolExecutor
) -> None:
    server = make_server(ServerSettings(dsn=site.server.settings.dsn, ui=False))
    there = Site(server, site.tenant)
    client = there.as_("worker_service", name="service:waiter")
    worker = client.register("waiter")
    answer = pool.submit(client.claim, worker, wait_seconds=60)
    until(lambda: waiting(there) == 1)
    began = time.monotonic()

    server.stop()

    assert answer.result(10) == []
    assert time.monotonic() - began < 5
    there.close()


def test_it_works_without_hints_through_a_pooler(
    site: Site, make_server: Callable[[ServerSettings], Running], pooled: Callable[[str], str], pool: ThreadPoolExecutor
) -> None:
    server = make_server(ServerSettings(dsn=pooled(site.server.settings.dsn), ui=False))
    there = Site(server, site.tenant)
    client = there.as_("worker_service", name="service:pooled")
    worker = client.register("pooled")
    answer = pool.submit(client.claim, worker, wait_seconds=30)
    until(lambda: waiting(there) == 1)

    subject = there.as_("admin", name="service:pooled-admin").submit()

    assert [lease["subject"] for lease in answer.result(10)] == [subject]
    there.close()


@pytest.mark.slow
def test_two_hundred_who_wait_cost_next_to_nothing(site: Site) -> None:
    workers = [site.worker.register(f"w{n}") for n in range(20)]
    use = site.server.application.state.gateway.use

    async def wait_all() -> tuple[int, int]:
        limits = httpx.Limits(max_connections=250)
        headers = {"Authorization": f"Bearer {site.worker.secret}"}
        async with httpx.AsyncClient(base_url=site.server.url, headers=headers, limits=limits, timeout=60) as http:
            claims = [
                asyncio.create_task(http.post(f"{PREFIX}/actions/claim", json={
                    "worker_euid": workers[n % 20]["euid"], "queue_key": "q", "wait_seconds": 50}))
                for n in range(200)
            ]  # fmt: skip
            await asyncio.to_thread(until, lambda: waiting(site) == 200)
            spent = await _requests_in(3.0, use)
            site.trusted.submit_many([{"queue_key": "q"} for _ in range(200)])
            answers = await asyncio.gather(*claims)
        return spent, sum(len(answer.json()["leases"]) for answer in answers)

    spent, taken = asyncio.run(wait_all())

    assert spent <= 6  # one look ahead each two seconds, for the queue
    assert taken == 200


async def _requests_in(seconds: float, use: Callable[[], dict[str, int]]) -> int:
    before = use()["requests_num"]
    await asyncio.sleep(seconds)
    return use()["requests_num"] - before


async def test_who_comes_as_a_look_ahead_ends_gets_one_of_its_own() -> None:
    due: list[bool] = []

    class Due:
        """Something falls due in no time."""

        async def perform(self, *_: Any) -> float:
            due.append(True)
            return 0.001

    ada = Identity(Principal(uid=1, tenant=1, name="user:ada"), "lab", frozenset())
    waiting, nobody = Waiting(cast(Any, Due()), ""), asyncio.Event()

    async def at_once() -> list[str]:
        return ["lease"]

    async def when_due() -> list[str]:
        await settle()
        (watch,) = waiting._watches.values()
        assert not watch.done()
        return ["lease"] if due else []

    await waiting.until_taken(ada, ["q"], 0, at_once, nobody.wait())
    await asyncio.sleep(0)  # nobody waits: its look ahead has ended, and was not yet forgotten
    (ended,) = waiting._watches.values()
    assert ended.done()

    assert await waiting.until_taken(ada, ["q"], 5, when_due, nobody.wait()) == ["lease"]
    await waiting.close()


# The line itself -------------------------------------------------------------------------------------------------------
async def rests(
    lines: Lines, queue: tuple[int, str], number: int, woken: list[int], take: Callable[[int], bool]
) -> None:
    with lines.place(queue) as place:
        while True:
            await place.rest()
            hinted = place.woken.is_set()
            with place.look():
                woken.append(number)
                taken = take(number)
            if taken:
                if hinted:
                    place.pass_on()
                return


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_those_who_came_first_are_woken_first_and_who_found_nothing_goes_to_the_end() -> None:
    lines, queue, woken = Lines(), (1, "q"), list[int]()
    tasks = [asyncio.create_task(rests(lines, queue, n, woken, lambda _: False)) for n in range(3)]
    await settle()

    for _ in range(4):
        lines.hint(queue)
        await settle()

    assert woken == [0, 1, 2, 0]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert len(lines) == 0


async def test_who_takes_something_wakes_two_more() -> None:
    lines, queue, woken, work = Lines(), (1, "q"), list[int](), [1, 1, 1]
    tasks = [asyncio.create_task(rests(lines, queue, n, woken, lambda _: bool(work and work.pop()))) for n in range(20)]
    await settle()

    lines.hint(queue)
    await settle()

    assert not work
    assert len(woken) <= 7  # three who took, and those whom they woke
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_hint_to_one_who_leaves_goes_to_the_next() -> None:
    lines, queue, woken = Lines(), (1, "q"), list[int]()
    tasks = [asyncio.create_task(rests(lines, queue, n, woken, lambda _: False)) for n in range(2)]
    await settle()

    lines.hint(queue)
    tasks[0].cancel()  # woken, and gone before it could look
    await settle()

    assert woken == [1]
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
