"""Two tenants with something in every table, made by the actions themselves."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from tenure.model.errors import TenureError
from tenure.sdk.client import Tenure

PASSWORD = "several words in a row"  # noqa: S105


@dataclass(frozen=True)
class Population:
    """The database and its two tenants."""

    dsn: str
    ours: int
    theirs: int
    subjects: dict[int, int]
    """One subject of each tenant."""


def populate(dsn: str) -> Population:
    """Make both tenants and give each the same work."""
    tenants, subjects = [], {}
    for key in ("ours", "theirs"):
        with Tenure(dsn, tenant=key, create_tenant=True, actor="user:root") as client:
            subject = _work(client)
            tenants.append(client.caller.tenant)
            subjects[client.caller.tenant] = subject
    _fill(dsn, tenants)
    return Population(dsn, tenants[0], tenants[1], subjects)


def _work(client: Tenure) -> int:
    client.define_template("task/job/1.0")
    client.define_queue("q", subject_template_codes=["task/job/1.0"])
    worker = client.register_worker("w", max_concurrent_leases=10)
    subject: int = client.submit(queue_key="q", external_ref="same", properties={"volume": 1}).subject
    client.submit(queue_key="q", parents=[subject], idempotency_key="same")
    client.submit(queue_key="q")
    held = client.submit(queue_key="q").subject
    client.release_lease(client.claim(worker, "q")[0])
    lease, failed = client.claim(worker, "q", limit=2, start=True)
    client.complete(lease)
    client.fail(failed, retryable=False)
    with contextlib.suppress(TenureError):
        client.complete(failed)  # kept as a refusal
    client.hold(held, reason="look")
    hook = {"kind": "webhook", "url": "https://receiver.example/events"}
    client.define_subscription("s", actor="service:shop", filter={"types": ["*"]}, destination=hook)
    client.create_principal("user:ada", roles=["admin"])
    client.set_password("user:ada", PASSWORD)
    client.create_token("user:ada")
    return subject


#: What a value of a type looks like; a column whose constraint wants another is named below.
_VALUES = {
    "bigint": "nextval('tenure.uid')", "integer": "1", "smallint": "1", "text": "'x'", "jsonb": "'{}'", "boolean": "false",
    "bytea": "sha256(random()::text::bytea)", "timestamp with time zone": "now()", "text[]": "'{}'",
    "double precision": "1", "interval": "'1 s'", "name": "'x'",
}  # fmt: skip
_WANTED = {
    ("run", "status"): "'RUNNING'", ("delivery", "outcome"): "'failed'", ("event_dead_letter", "status"): "'OPEN'",
    ("runtime_lease", "name"): "random()::text", ("retention", "kind"): "'inbox'", ("cleared", "kind"): "'inbox'",
    ("retention", "days"): "7", ("standing_claim", "channel"): "'tenure_' || md5('x')",
}  # fmt: skip


def _fill(dsn: str, tenants: list[int]) -> None:
    """A row in every table that has none of a tenant, past the law: what is tested is who sees it, not what it says."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("set session_replication_role = replica")
        tables = connection.execute(
            "select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant'"
            " where c.relnamespace = 'tenure'::regnamespace and c.relkind in ('r', 'p') and not a.attisdropped"
        ).fetchall()
        for (table,) in tables:
            for tenant in tenants:
                _fill_one(connection, table, tenant)


def _fill_one(connection: psycopg.Connection[Any], table: str, tenant: int) -> None:
    name = sql.Identifier("tenure", table)
    if connection.execute(sql.SQL("select from {} where tenant = %s").format(name), [tenant]).rowcount:
        return
    needed = connection.execute(
        "select attname, format_type(atttypid, null) from pg_attribute where attrelid = ('tenure.' || %s)::regclass"
        " and attnum > 0 and attnotnull and not atthasdef and attidentity = '' and not attisdropped", [table],
    ).fetchall()  # fmt: skip
    values = [
        str(tenant) if column == "tenant" else _WANTED.get((table, column)) or _VALUES[kind] for column, kind in needed
    ]
    columns = sql.SQL(", ").join(sql.Identifier(column) for column, _ in needed)
    connection.execute(sql.SQL("insert into {} ({}) values ({})").format(name, columns, sql.SQL(", ".join(values))))
