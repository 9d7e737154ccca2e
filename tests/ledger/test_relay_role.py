"""A relay with a database role of its own, which may do what a relay does and nothing else (design 05, Roles)."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tenure.sdk.relay import NoRelay, relay_on
from tests.ledger.post import Post
from tests.ledger.receiver import Receiver

ROLE = f"relay{os.getpid()}"


@pytest.fixture(scope="module")
def relay_dsn(admin: psycopg.Connection, shared_database: str) -> Iterator[str]:
    """The DSN of a role that is granted tenure_relay and nothing else."""
    admin.execute(sql.SQL("create role {} login in role tenure_relay").format(sql.Identifier(ROLE)))
    yield shared_database.replace("://tenure@", f"://{ROLE}@")
    admin.execute(sql.SQL("drop role {}").format(sql.Identifier(ROLE)))


@pytest.fixture
def post(post: Post, relay_dsn: str) -> Post:
    """The same, with relays of that role."""
    post.relay_dsn = relay_dsn
    return post


def test_everything_that_a_relay_does_it_may_do(post: Post, receiver: Receiver) -> None:
    post.subscribe(receiver.url, "single", max_attempts=2)
    post.subscribe(receiver.url, "grouped", group_by="correlation")
    post.subscribe(receiver.url, "stopping", on_poison="stop")
    told = [*post.batch("import 1", 3), *post.batch("import 2", 3), *post.work(2)[-2:]]
    receiver.answer = lambda event: {told[0]: 422, told[3]: 500}.get(event["id"], 200)
    post.drain()
    assert not post.standing("stopping").subscription.enabled
    assert post.standing("grouped").parked == 1

    post.client.give_up_event("grouped", told[3], reason="of no use")
    post.client.resume_subscription("stopping")
    post.drain(4, then_seconds=30, meanwhile=lambda: post.work(1))
    receiver.answer = lambda _: 200
    for name in ("single", "grouped", "stopping"):
        for letter in post.client.event_dead_letters(name):
            post.client.redeliver_event(name, letter)
    post.clock.advance(days=91)
    post.drain(2)
    assert [s.subscription.name for s in post.client.subscriptions() if s.parked or s.open_dead_letters] == []
    assert {event["id"] for event in receiver.taken} == set(post.told())
    assert post.rows("select 1 from tenure.delivery where tenant = %s", post.client.caller.tenant) == []


def test_event_triggers_start_their_runs_where_the_role_may_act_as_a_server_and_wait_where_not(
    post: Post, admin: psycopg.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    steps = [{"name": "look", "performer": "task", "action": "look"}]
    trigger = {"name": "held", "kind": "event", "event": "hold.placed"}
    post.client.define_workflow(
        {"name": "look-into", "version": 1, "queue": "q", "steps": steps, "triggers": [trigger]}
    )
    post.client.hold(post.client.submit(queue_key="q").subject, reason="look")
    post.drain()
    assert post.client.runs() == []
    assert "starts no runs" in caplog.text

    how = " with inherit false, set true" if admin.info.server_version >= 160000 else ""
    admin.execute(sql.SQL("grant tenure_api to {}" + how).format(sql.Identifier(ROLE)))
    try:
        post.drain()
    finally:
        admin.execute(sql.SQL("revoke tenure_api from {}").format(sql.Identifier(ROLE)))
    (run,) = post.client.runs()
    assert run.run_key.startswith("event:held:SX-")
    assert post.client.event_dead_letters("workflow.look-into.held") == []


_NOT_ALLOWED = """
select password_hash from tenure.principal
select digest from tenure.access_token
select properties from tenure.subject
select * from tenure.attempt
select input from tenure.run
select command from tenure.remote_submission
select content_hash from tenure.inbox
update tenure.subscription set spec = '{}'
update tenure.signing_key set key = null
insert into tenure.subject default values
insert into tenure.run default values
insert into tenure.execution default values
update tenure.execution set seq = seq + 1
delete from tenure.fact
update tenure.fact set seq = 1
delete from tenure.event_dead_letter
update tenure.event_dead_letter set status = 'IGNORED'
delete from tenure.worker_cursor
update tenure.retention set days = 1
select tenure.admit_relay()
create table tenure.mine (x int)
set role tenure_api
alter table tenure.fact disable trigger all
"""


@pytest.mark.parametrize("statement", _NOT_ALLOWED.strip().splitlines())
@pytest.mark.parametrize("becoming", [True, False])
def test_and_nothing_else(relay_dsn: str, statement: str, becoming: bool) -> None:
    with psycopg.connect(relay_dsn) as connection:
        if becoming:
            connection.execute("set role tenure_relay")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement.encode())


async def refused(dsn: str) -> str:
    with pytest.raises(NoRelay) as error:
        async with relay_on(dsn):
            pass
    return error.value.hint


async def let_in(dsn: str) -> None:
    async with relay_on(dsn) as relay:
        await relay.once()


def run_hint(owner: psycopg.Connection, hint: str) -> None:
    """Do as a DBA would who copies what the hint says."""
    for command in hint.rpartition(": ")[2].rstrip(".").split("; "):
        owner.execute(command.encode())


def test_a_role_that_was_granted_nothing_is_told_what_to_run(admin: psycopg.Connection, shared_database: str) -> None:
    stranger = sql.Identifier(f"{ROLE}_stranger")
    admin.execute(sql.SQL("create role {} login").format(stranger))
    dsn = shared_database.replace("://tenure@", f"://{ROLE}_stranger@")
    with psycopg.connect(shared_database, autocommit=True) as owner:
        try:
            run_hint(owner, asyncio.run(refused(dsn)))
            asyncio.run(let_in(dsn))
            owner.execute("drop owned by tenure_relay")
            run_hint(owner, asyncio.run(refused(dsn)))
            asyncio.run(let_in(dsn))
        finally:
            admin.execute(sql.SQL("drop role {}").format(stranger))


def test_the_command_runs_with_it(shared_database: str, relay_dsn: str, tmp_path: Path) -> None:
    post = Post(shared_database, moves=False)
    post.client.define_subscription(
        "all", actor="service:shop", filter={"types": ["subject.*"]}, destination={"kind": "file", "name": "events"}
    )
    told = post.work(2)
    command = [sys.executable, "-m", "tenure.cli", "relay", "--drain", "--one-tenant", "--tenant", post.tenant]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    done = subprocess.run(
        [*command, "--files", str(tmp_path)],
        env=environment | {"TENURE_DSN": relay_dsn},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (file,) = tmp_path.rglob("events")
    assert [json.loads(line)["id"] for line in file.read_text().splitlines()] == told
    post.close()
