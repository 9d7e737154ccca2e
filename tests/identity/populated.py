"""Two tenants with something in every table, made by the actions themselves."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import psycopg

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
        with Tenure(dsn, tenant=key, actor="user:root") as client:
            subject = _work(client)
            tenants.append(client.caller.tenant)
            subjects[client.caller.tenant] = subject
    _runs(dsn, tenants)
    return Population(dsn, tenants[0], tenants[1], subjects)


def _work(client: Tenure) -> int:
    client.define_template("task/job/1.0")
    client.define_queue("q", subject_template_codes=["task/job/1.0"])
    worker = client.register_worker("w", max_concurrent_leases=10)
    subject: int = client.submit(queue_key="q", external_ref="same", properties={"volume": 1}).subject
    client.submit(queue_key="q", parents=[subject], idempotency_key="same")
    client.submit(queue_key="q")
    held = client.submit(queue_key="q").subject
    lease, failed = client.claim(worker, "q", limit=2, start=True)
    client.complete(lease)
    client.fail(failed, retryable=False)
    with contextlib.suppress(TenureError):
        client.complete(failed)  # kept as a refusal
    client.hold(held, reason="look")
    client.create_principal("user:ada", roles=["admin"])
    client.set_password("user:ada", PASSWORD)
    client.create_token("user:ada")
    return subject


def _runs(dsn: str, tenants: list[int]) -> None:
    """Rows of runs, past the law: what is tested is who sees them, not what they say."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("set session_replication_role = replica")
        for tenant in tenants:
            workflow, run = (_uid(connection) for _ in "12")
            connection.execute(
                "insert into tenure.workflow (uid, tenant, name, version, definition, fingerprint, created_at, seq, head)"
                " values (%s, %s, 'w', 1, '{}', sha256('w'), now(), 1, sha256('w'))", [workflow, tenant],
            )  # fmt: skip
            connection.execute(
                "insert into tenure.run (uid, tenant, workflow, status, name, input_hash, started_at, seq, head)"
                " values (%s, %s, %s, 'RUNNING', 'w', sha256('i'), now(), 1, sha256('r'))", [run, tenant, workflow],
            )  # fmt: skip
            connection.execute(
                "insert into tenure.runnable (subject, tenant, run, runnable_key, step, iteration)"
                " values (%s, %s, %s, 'k', 's', 1)", [_uid(connection), tenant, run],
            )  # fmt: skip
            connection.execute(
                "insert into tenure.run_payload (run, tenant, seq, data) values (%s, %s, 1, '{}')", [run, tenant]
            )
            connection.execute(
                "insert into tenure.journal_checkpoint (thread, tenant, rev, head, format, state)"
                " values (%s, %s, 1, sha256('r'), 1, '{}')", [run, tenant],
            )  # fmt: skip


def _uid(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("select nextval('tenure.uid')").fetchone()
    assert row is not None
    return int(row[0])
