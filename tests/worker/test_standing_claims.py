"""What is submitted while a worker waits is taken for it at once, is done once, and is never lost on the way."""

from __future__ import annotations

import asyncio
import json
import threading

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tenure import Tenure
from tenure.engine.actions.claim import told
from tenure.sdk.worker import standing
from tenure.sdk.worker.dispatcher import Dispatcher
from tenure.sdk.worker.standing import Standing
from tenure.store.operation import Calling
from tests.waiting import until_async
from tests.worker.conftest import state, states, working
from tests.worker.proxy import Proxy
from tests.worker.serving import address_for, serving


async def waits(worker) -> None:
    """Until it is idle and has left its claim."""
    await until_async(lambda: worker.listening)


async def test_a_worker_that_waits_is_given_what_is_submitted(app):
    seen = []

    @app.task(queue="q")
    async def work(n: int) -> int:
        seen.append(n)
        return n

    async with working(app, poll_listening=3600) as worker:
        await waits(worker)
        for number in range(1, 6):
            subject = await asyncio.to_thread(work.submit, number)
            await until_async(lambda subject=subject: state(app, subject) == "COMPLETED")
        await until_async(lambda: worker.report()["completed"] == 5)
        report = worker.report()
    assert (report["answered"], report["hints"], report["completed"]) == (5, 0, 5)
    assert seen == [1, 2, 3, 4, 5]
    types = [fact.type for fact in app.history(subject).facts]
    assert types == ["subject.submitted", "lease.claimed", "execution.completed"]
    assert app.verify().clean


async def test_by_a_server_as_well(app):
    """It submits as a role that sees one tenant alone, and may not write what workers left."""
    app.create_principal("service:shop", roles=["operator"])

    @app.task(queue="q")
    async def work(n: int) -> int:
        return n

    with serving(app) as server:
        address = address_for(app, server, "service:works")
        secret = str(app.create_token("service:shop").secret.reveal())
        async with working(app, poll_listening=3600, address=None) as worker:
            await waits(worker)
            with Tenure(url=address.url, token=secret) as shop:
                made = await asyncio.to_thread(shop.submit, **work.request(1).model_dump(exclude_unset=True))
            await until_async(lambda: state(app, made) == "COMPLETED")
            assert worker.report()["answered"] == 1


async def test_through_a_pooler_as_well(app, pooled):
    @app.task(queue="q")
    async def work(n: int) -> int:
        return n

    async with working(app, poll_listening=3600) as worker:
        await waits(worker)
        with Tenure(pooled(app.settings.dsn)) as through:
            made = await asyncio.to_thread(through.submit, **work.request(1).model_dump(exclude_unset=True))
        await until_async(lambda: state(app, made) == "COMPLETED")
        assert worker.report()["answered"] == 1


async def test_from_a_queue_that_it_is_to_leave_alone_nothing_is_taken(app):
    app.define_queue("other")

    @app.task(queue="q")
    async def work() -> None: ...

    async with working(app, poll_listening=3600, queues=["q", "other"], queue_limits={"other": 0}) as worker:
        await waits(worker)
        left = await asyncio.to_thread(app.submit, queue_key="other")
        made = await asyncio.to_thread(work.submit)
        await until_async(lambda: state(app, made) == "COMPLETED")
        assert worker.report()["answered"] == 1
    assert state(app, left) == "READY"


async def test_what_is_too_long_to_be_told_is_read(app):
    lengths = []

    @app.task(queue="q")
    async def work(text: str) -> None:
        lengths.append(len(text))

    async with working(app, poll_listening=3600) as worker:
        await waits(worker)
        made = await asyncio.to_thread(work.submit, "ä" * 10_000)
        await until_async(lambda: state(app, made) == "COMPLETED")
        assert worker.report()["answered"] == 1
    assert lengths == [10_000]


async def test_a_worker_at_work_is_told_and_claims(app):
    going_on = threading.Event()

    @app.task(queue="q")
    def work(n: int) -> None:
        if n == 0:
            going_on.wait(20)

    async with working(app, poll_listening=3600) as worker:
        await waits(worker)
        first = await asyncio.to_thread(work.submit, 0)
        await until_async(lambda: state(app, first) == "RUNNING")
        second = await asyncio.to_thread(work.submit, 1)
        await until_async(lambda: state(app, second) == "COMPLETED")
        going_on.set()
        await until_async(lambda: state(app, first) == "COMPLETED")
        assert worker.report()["answered"] == 1
        assert worker.report()["hints"] >= 1


async def test_a_worker_that_wants_to_be_asked_claims_for_itself(app):
    @app.task(queue="q")
    async def work() -> None: ...

    async with working(app, poll_listening=3600, standing_claim=False) as worker:
        await waits(worker)
        made = await asyncio.to_thread(work.submit)
        await until_async(lambda: state(app, made) == "COMPLETED")
        assert worker.report()["answered"] == 0


async def test_none_is_left_while_looks_at_the_queue_take_long(app, monkeypatch):
    """A submission is not to wade through what some transaction keeps from being cleaned away."""

    @app.task(queue="q")
    async def work(n: int) -> None: ...

    async with working(app, poll_listening=3600, listen_ping=0.1) as worker:
        await waits(worker)
        for seconds, left in ((0.5, 0), (0.001, 1)):
            monkeypatch.setattr(Dispatcher, "look_seconds", Told(seconds), raising=False)
            await until_async(lambda left=left: len(spots(app)) == left)
            answered = worker.report()["answered"]
            made = await asyncio.to_thread(work.submit, 1)
            await until_async(lambda made=made: state(app, made) == "COMPLETED")
            assert worker.report()["answered"] == answered + left


class Told:
    """How long looks take, whatever they do."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __get__(self, *_: object) -> float:
        return self._seconds

    def __set__(self, *_: object) -> None: ...


def spots(app: Tenure) -> list[int]:
    """The claims that stand, by what shows that somebody listens."""
    with psycopg.connect(app.settings.dsn) as connection:
        return [row[0] for row in connection.execute("select spot from tenure.standing_claim").fetchall()]


async def test_where_the_connection_broke_a_claim_is_left_again(app):
    @app.task(queue="q")
    async def work(n: int) -> None: ...

    async with working(app, poll_listening=3600) as worker:
        await waits(worker)
        before = spots(app)
        with psycopg.connect(app.settings.dsn, autocommit=True) as connection:
            connection.execute("select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted")
        await until_async(lambda: worker.listening and spots(app) not in ([], before))
        made = await asyncio.to_thread(work.submit, 1)
        await until_async(lambda: state(app, made) == "COMPLETED")
        assert worker.report()["answered"] == 1
    assert spots(app) == []


async def test_what_was_told_over_a_line_that_is_dead_is_found_when_that_is_noticed(tcp_app):
    """The server does not know yet that nobody hears it; the lease begins, and its word is lost."""
    server = conninfo_to_dict(tcp_app.settings.dsn)

    @tcp_app.task(queue="q")
    async def work() -> None: ...

    async with Proxy("127.0.0.1", int(server["port"])) as proxy:
        options = {
            "listen_dsn": make_conninfo(**server | {"port": proxy.port}),
            "listen_ping": 0.5,
            "poll_listening": 3600,
        }
        async with working(tcp_app, **options) as worker:
            await waits(worker)
            proxy.stop_forwarding()
            made = await asyncio.to_thread(work.submit)
            assert state(tcp_app, made) == "RUNNING"
            await until_async(lambda: state(tcp_app, made) == "COMPLETED")
            assert worker.report()["answered"] == 1
            assert not worker.listening
            proxy.forward()
            await waits(worker)
    types = [fact.type for fact in tcp_app.history(made).facts]
    assert types == ["subject.submitted", "lease.claimed", "execution.completed"]


async def test_what_was_told_last_is_given_back_at_the_stop(tcp_app):
    server = conninfo_to_dict(tcp_app.settings.dsn)

    @tcp_app.task(queue="q")
    async def work() -> None: ...

    async with Proxy("127.0.0.1", int(server["port"])) as proxy:
        options = {"listen_dsn": make_conninfo(**server | {"port": proxy.port}), "poll_listening": 3600}
        async with working(tcp_app, **options) as worker:
            await waits(worker)
            proxy.stop_forwarding()
            made = await asyncio.to_thread(work.submit)
            assert state(tcp_app, made) == "RUNNING"
    assert state(tcp_app, made) == "READY"
    assert worker.report()["released"] == 1
    assert tcp_app.verify().clean


async def test_what_was_being_read_at_the_stop_is_given_back(app, monkeypatch):
    """Its word was heard, and what else a claim returns was on its way when the listener was ended."""
    reading, go_on = asyncio.Event(), asyncio.Event()

    def slowly(caller, lease, item):
        reading.set()
        yield Calling(lambda _: go_on.wait())
        return (yield from told(caller, lease, item))

    monkeypatch.setattr(standing, "told", slowly)
    begun = []

    @app.task(queue="q")
    async def work(text: str) -> None:
        begun.append(text)

    async with working(app, poll_listening=3600) as worker:
        await waits(worker)
        made = await asyncio.to_thread(work.submit, "x" * 10_000)
        await asyncio.wait_for(reading.wait(), 20)
        reading.clear()
        worker.stop()
        await asyncio.wait_for(reading.wait(), 20)
        go_on.set()
    assert (state(app, made), begun) == ("READY", [])
    assert worker.report()["released"] == 1


LONG = ["q", 0, 1, 2, "2026-01-01T00:00:00+00:00", 1e300, None, 0, "t", None, None, {}, None, None]
NONSENSE = [
    "", "{", "[]", "[1]", '["q", null, "x"]', '["q", 0, 1, 2]', '["q", 0, 999999999]', '["q", 0, Infinity]', '["q", NaN, 1]',
    json.dumps(LONG),
]  # fmt: skip


async def test_what_is_said_on_the_channel_by_others_does_no_harm(app):
    @app.task(queue="q")
    async def work(n: int) -> None: ...

    async with working(app, poll_listening=3600, listen_ping=0.2) as worker:
        await waits(worker)
        with psycopg.connect(app.settings.dsn, autocommit=True) as connection:
            [(channel,)] = connection.execute("select channel from tenure.standing_claim").fetchall()
            for nonsense in NONSENSE:
                connection.execute("select pg_notify(%s, %s)", [channel, nonsense])
        made = await asyncio.to_thread(work.submit, 1)
        await until_async(lambda: state(app, made) == "COMPLETED")
        assert worker.report()["answered"] == 1


async def test_a_claim_is_left_once_the_workers_row_is_free(app):
    """Somebody's transaction holds the row while the worker starts: it works, and leaves its claim later."""
    app.register_worker("w")

    @app.task(queue="q")
    async def work(n: int) -> None: ...

    with psycopg.connect(app.settings.dsn) as theirs:
        async with working(app, poll_listening=3600, listen_ping=0.2, worker_key="w") as worker:
            await waits(worker)
            before = spots(app)
            await asyncio.to_thread(theirs.execute, "select from tenure.worker for update")
            with psycopg.connect(app.settings.dsn, autocommit=True) as connection:
                connection.execute(
                    "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted"
                )
            await until_async(lambda: not worker.listening)
            await until_async(lambda: worker.listening)
            theirs.rollback()
            await until_async(lambda: spots(app) not in ([], before))
            made = await asyncio.to_thread(work.submit, 1)
            await until_async(lambda: state(app, made) == "COMPLETED")
            assert worker.report()["answered"] == 1


async def test_a_word_that_is_lost_is_looked_for_at_the_next_sign_of_life(app, monkeypatch):
    async def deaf(*_: object) -> None: ...

    monkeypatch.setattr(Standing, "hear", deaf)

    @app.task(queue="q")
    async def work() -> None: ...

    async with working(app, poll_listening=3600, listen_ping=0.2) as worker:
        await waits(worker)
        made = await asyncio.to_thread(work.submit)
        await until_async(lambda: state(app, made) == "COMPLETED")
        assert worker.report()["answered"] == 1
    assert app.verify().clean


async def test_nothing_is_done_twice_where_workers_wait_and_many_submit(app):
    """Singles from several threads, some answered and some claimed: each is done once."""
    done: list[int] = []

    @app.task(queue="q")
    async def work(n: int) -> None:
        done.append(n)

    def submit(first: int) -> None:
        for number in range(first, first + 50):
            work.submit(number)

    async with working(app) as one, working(app) as other:
        await waits(one)
        await waits(other)
        await asyncio.gather(*(asyncio.to_thread(submit, 100 * thread) for thread in range(4)))
        await until_async(lambda: sum(worker.report()["completed"] for worker in (one, other)) == 200)
        reports = one.report(), other.report()
    assert sorted(done) == sorted(100 * thread + n for thread in range(4) for n in range(50))
    assert states(app) == {"COMPLETED": 200}
    answered = sum(report["answered"] for report in reports)
    print(f"answered {answered}, claimed {200 - answered}")
    assert answered >= 1
    assert app.verify().clean
