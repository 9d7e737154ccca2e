"""``@app.on`` and ``app.receive``: a message does what it does once, with both clients (design 05, In)."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from tenure import AsyncTenure, Message, Tenure, TenureError
from tenure.model.errors import AlreadyExists, InvalidRequest, MessageConflict, NotFound


class Client:
    """Either client, as the tests speak to it."""

    def __init__(self, dsn: str, kind: str) -> None:
        self.kind = kind
        self.dsn = dsn
        with Tenure(dsn) as client:
            client.define_queue("judgments")
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("create table judged (label text)")

    def run(self, script: Any) -> Any:
        """Run ``script(app, maybe)`` where ``maybe`` waits for what the async client gives."""

        async def asynchronously() -> Any:
            app = AsyncTenure(self.dsn)
            try:
                return await script(app)
            finally:
                await app.close()

        return asyncio.run(asynchronously())

    def judged(self) -> list[str]:
        with psycopg.connect(self.dsn) as connection:
            return [label for (label,) in connection.execute("select label from judged order by label").fetchall()]

    def depth(self) -> int:
        with Tenure(self.dsn) as client:
            return len(client.queue_items("judgments"))


@pytest.fixture(params=["sync", "async"])
def client(request: pytest.FixtureRequest, migrated_database: str) -> Client:
    return Client(migrated_database, request.param)


def receive(
    client: Client, *messages: tuple[str, Any], fails: bool = False, name: str = "judgment.received"
) -> list[Any]:
    """Take messages (id, data) in; what came of each, or its error."""
    if client.kind == "sync":
        with Tenure(client.dsn) as app:

            @app.on("judgment.received")
            def handle(message: Message[Tenure]) -> str:
                message.tx.submit(queue_key="judgments", properties=message.data)
                message.tx.connection.execute("insert into judged values (%s)", [message.data["label"]])  # type: ignore[attr-defined]
                if fails:
                    raise ValueError("broken")
                return str(message.data["label"])

            return [_outcome(lambda m=m: app.receive("bus", m[0], name, m[1])) for m in messages]  # type: ignore[misc]

    async def script(app: AsyncTenure) -> list[Any]:
        @app.on("judgment.received")
        async def handle(message: Message[Any]) -> str:
            await message.tx.submit(queue_key="judgments", properties=message.data)
            await message.tx.transaction_of.execute("insert into judged values (%s)", [message.data["label"]])
            if fails:
                raise ValueError("broken")
            return str(message.data["label"])

        outcomes = []
        for message_id, data in messages:
            try:
                outcomes.append(await app.receive("bus", message_id, name, data))
            except (TenureError, ValueError) as error:
                outcomes.append(error)
        return outcomes

    found: list[Any] = client.run(script)
    return found


def _outcome(call: Any) -> Any:
    try:
        return call()
    except (TenureError, ValueError) as error:
        return error


def test_a_message_does_what_it_does_once(client: Client) -> None:
    first, again, other = receive(client, ("m1", {"label": "cat"}), ("m1", {"label": "cat"}), ("m2", {"label": "dog"}))

    assert (first.value, first.duplicate) == ("cat", False)
    assert (again.value, again.duplicate, again.received_at) == (None, True, first.received_at)
    assert other.value == "dog"
    assert (client.judged(), client.depth()) == (["cat", "dog"], 2)


def test_what_a_handler_raises_undoes_all_of_it_and_the_message_can_come_again(client: Client) -> None:
    (error,) = receive(client, ("m1", {"label": "cat"}), fails=True)
    assert isinstance(error, ValueError)
    assert (client.judged(), client.depth()) == ([], 0)

    (taken,) = receive(client, ("m1", {"label": "cat"}))
    assert not taken.duplicate
    assert (client.judged(), client.depth()) == (["cat"], 1)


def test_another_content_under_the_same_id_is_refused(client: Client) -> None:
    _, refused = receive(client, ("m1", {"label": "cat"}), ("m1", {"label": "dog"}))
    assert isinstance(refused, MessageConflict)
    assert client.judged() == ["cat"]


def test_a_message_that_nobody_handles_is_not_taken_in(client: Client) -> None:
    (refused,) = receive(client, ("m1", {"label": "cat"}), name="nothing.known")
    assert isinstance(refused, NotFound)
    assert not receive(client, ("m1", {"label": "cat"}))[0].duplicate


def test_it_joins_the_callers_own_transaction(migrated_database: str) -> None:
    with Tenure(migrated_database) as app, psycopg.connect(migrated_database) as connection:
        app.define_queue("judgments")
        app.on("judged")(lambda message: message.tx.submit(queue_key="judgments"))
        assert not app.within(connection).receive("bus", "m1", "judged").duplicate
        connection.rollback()
        assert app.queue_items("judgments") == []
        assert not app.within(connection).receive("bus", "m1", "judged").duplicate
        connection.commit()
        assert app.receive("bus", "m1", "judged").duplicate
        assert len(app.queue_items("judgments")) == 1


def test_handlers_that_do_not_fit_are_refused_where_they_are_written() -> None:
    app, awaited = Tenure(), AsyncTenure()
    app.on("a")(lambda message: None)
    with pytest.raises(AlreadyExists):
        app.on("a")(lambda message: None)
    with pytest.raises(InvalidRequest):
        awaited.on("a")(lambda message: None)
    with pytest.raises(InvalidRequest):
        app.on("not a name")(lambda message: None)
