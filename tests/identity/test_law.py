"""The law holds for principals and tokens, whoever writes: a plain SQL session is refused what the actions would not do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tenure.sdk.client import Tenure

_TOLD = """
with told as (
    insert into tenure.fact (thread, seq, tenant, at, revision, type, actor, data, hash)
    select uid, seq + 1, tenant, now(), revision + 1, %s, 'user:eve', %s::jsonb, sha256(head)
    from tenure.principal where name = 'user:ada')
update tenure.principal set seq = seq + 1, head = sha256(head), revision = revision + 1"""
ADA = " where name = 'user:ada'"


@pytest.fixture(scope="module")
def database(module_database: str) -> str:
    with Tenure(module_database, tenant="ours", create_tenant=True, actor="user:root") as client:
        client.create_principal("user:ada", roles=["observer"])
        client.set_password("user:ada", "several words in a row")
        client.revoke_token(client.create_token("user:ada", label="gone").access_token)
        client.create_token("user:ada", label="here", roles=["observer"])
    return module_database


@pytest.fixture
def connection(database: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database) as made:
        yield made
        made.rollback()


def refused(connection: psycopg.Connection, statement: str, *values: Any) -> str | None:
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(statement.encode(), values or None)
    return caught.value.sqlstate


@pytest.mark.parametrize(
    "change", ["roles = '{admin}'", "status = 'DISABLED'", "display_name = 'x'", "password_hash = '$argon2id$x'",
               "head = sha256('x')", "name = 'user:eve'", "oidc_issuer = 'i', oidc_subject = 's'"],
)  # fmt: skip
def test_no_principal_changes_silently(connection: psycopg.Connection, change: str) -> None:
    assert refused(connection, f"update tenure.principal set {change}") == "TN003"


@pytest.mark.parametrize(
    ("type_", "data", "change"),
    [
        ("principal.changed", {"set": {"roles": ["observer"]}, "fields": ["roles"]}, "roles = '{admin}'"),
        ("principal.changed", {"set": {}, "fields": ["display_name"]}, "roles = '{admin}', display_name = 'x'"),
        ("principal.password_set", {}, "roles = '{admin}'"),
        ("principal.changed", {"set": {}, "fields": []}, "status = 'DISABLED'"),
        ("principal.changed", {"set": {}, "fields": []}, "password_hash = '$argon2id$x'"),
    ],
)
def test_a_fact_that_tells_something_else_gives_no_rights(
    connection: psycopg.Connection, type_: str, data: dict[str, Any], change: str
) -> None:
    assert refused(connection, f"{_TOLD}, {change}{ADA}", type_, json.dumps(data)) == "TN003"


@pytest.mark.parametrize(
    ("type_", "data", "change"),
    [
        ("principal.changed", {"set": {"roles": ["admin"]}, "fields": ["roles"]}, "roles = '{admin}'"),
        ("principal.changed", {"set": {"status": "DISABLED"}, "fields": ["status"]}, "status = 'DISABLED'"),
        ("principal.password_set", {}, "password_hash = '$argon2id$x'"),
    ],
)
def test_an_honest_writer_is_let_through(
    connection: psycopg.Connection, type_: str, data: dict[str, Any], change: str
) -> None:
    assert connection.execute(f"{_TOLD}, {change}{ADA}".encode(), [type_, json.dumps(data)]).rowcount == 1


@pytest.mark.parametrize("table", ["principal", "access_token"])
def test_nothing_is_deleted(connection: psycopg.Connection, table: str) -> None:
    for command in (f"delete from tenure.{table}", f"truncate tenure.{table} cascade"):
        with connection.transaction(force_rollback=True):
            assert refused(connection, command) == "TN001"


@pytest.mark.parametrize(
    "change",
    ["expires_at = expires_at + interval '1 day'", "roles = null", "digest = sha256('x')", "kind = 'SESSION'", "label = 'y'",
     "last_used_at = 'epoch'"],
)  # fmt: skip
def test_a_token_is_only_ever_revoked(connection: psycopg.Connection, change: str) -> None:
    connection.execute("update tenure.access_token set last_used_at = now() where label = 'here'")
    assert refused(connection, f"update tenure.access_token set {change} where label = 'here'") == "TN001"


def test_a_token_is_neither_revoked_silently_nor_brought_back(connection: psycopg.Connection) -> None:
    for statement, code in (
        ("update tenure.access_token set revoked_at = now(), revoked_seq = 1 where label = 'here'", "TN003"),
        ("update tenure.access_token set revoked_at = null, revoked_seq = null where label = 'gone'", "TN001"),
    ):
        with connection.transaction(force_rollback=True):
            assert refused(connection, statement) == code


_MADE = """
insert into tenure.access_token (uid, tenant, principal, digest, kind, label, roles, created_at, expires_at, created_seq)
select {uid}, tenant, principal, sha256('x'), kind, 'forged', {roles}, created_at, {expires}, created_seq
from tenure.access_token where label = 'here'"""


@pytest.mark.parametrize(
    ("uid", "roles", "expires"),
    [
        ("uid + 1", "roles", "expires_at"), ("uid", "null", "expires_at"), ("uid", "'{admin}'", "expires_at"),
        ("uid", "roles", "expires_at + interval '1 year'"),
    ],
)  # fmt: skip
def test_no_token_is_made_that_no_fact_tells_of(
    connection: psycopg.Connection, uid: str, roles: str, expires: str
) -> None:
    if uid == "uid":  # the row that the fact is about must be out of the way first
        connection.execute("set local session_replication_role = replica")
        connection.execute("update tenure.access_token set label = 'was', uid = uid + 2 where label = 'here'")
        connection.execute("set local session_replication_role = origin")
        statement = _MADE.format(uid="uid - 2", roles=roles, expires=expires).replace("'here'", "'was'")
    else:
        statement = _MADE.format(uid=uid, roles=roles, expires=expires)
    assert refused(connection, statement) == "TN003"
