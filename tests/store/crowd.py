"""Fills a database with valid-looking work by the million: set-based, past the law, so that plans can be tested on it."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import psycopg

#: What every seeded lease is held by, and what every seeded row has for a hash.
TOKEN = b"t" * 32


@dataclass(frozen=True)
class Place:
    """Where the work stands: the queue, the kind of subject and the workers that hold leases, in turn."""

    tenant: int
    template: int
    queue: int
    queue_key: str
    workers: tuple[int, ...]


@dataclass(frozen=True)
class Crowd:
    """How many subjects of which kind."""

    waiting: int = 0
    deferred: int = 0
    ripe: int = 0
    """Deferred, and due by now."""
    live: int = 0
    lapsed: int = 0
    finished: int = 0


@dataclass(frozen=True)
class _Kind:
    count: str
    state: str
    facts: tuple[tuple[int, str, str], ...]
    attempt: str | None = None
    ready: str = "null"


_BORN = ((1, "READY", "subject.submitted"),)
_HELD = (*_BORN, (2, "RUNNING", "lease.claimed"))
_KINDS = (
    _Kind("waiting", "READY", _BORN),
    _Kind("deferred", "READY", _BORN, ready="now() + interval '1 day'"),
    _Kind("ripe", "READY", _BORN, ready="now() - interval '1 minute'"),
    _Kind("live", "RUNNING", _HELD, attempt="'ACTIVE', 'STARTED', null, null, now() + interval '1 day', null"),
    _Kind("lapsed", "RUNNING", _HELD, attempt="'ACTIVE', 'STARTED', null, null, now() - interval '1 minute', null"),
    _Kind("finished", "COMPLETED", (*_HELD, (3, "COMPLETED", "execution.completed")),
          attempt="'COMPLETED', 'SUCCEEDED', 'COMPLETED'::tenure.state, 3, now(), now()"),
)  # fmt: skip


def settle(dsn: str, place: Place, crowd: Crowd) -> None:
    """Write the crowd before the queue of ``place``."""
    scripts: list[list[str]] = [[], []]
    with psycopg.connect(dsn, autocommit=True) as connection:
        for kind in _KINDS:
            count = getattr(crowd, kind.count)
            if count:
                envelopes, others = _script(kind, place, count, _reserve(connection, count * 2))
                scripts[0].append(envelopes)
                scripts[1] += others
    # Envelopes take about as long as all the rest, so each gets a connection.
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda script: _execute(dsn, script), scripts))


def _reserve(connection: psycopg.Connection, count: int) -> int:
    row = connection.execute("select nextval('tenure.uid')").fetchone()
    assert row is not None
    connection.execute("select setval('tenure.uid', %s)", [row[0] + 2 * count])
    return int(row[0])


def _execute(dsn: str, script: Iterable[str]) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("set session_replication_role = replica; set synchronous_commit = off; set jit = off")
        for statement in script:
            connection.execute(statement)


def _script(kind: _Kind, place: Place, count: int, first: int) -> tuple[str, list[str]]:
    uid, lease = f"{first} + 4 * g", f"{first} + 4 * g + 2"
    series = f"generate_series(0, {count - 1}) g"
    born = f"now() - interval '1 hour' + g * interval '1 second' / {count}"
    head = "sha256('head')"
    taken = kind.attempt is not None
    worker = f"(array{list(place.workers)}::bigint[])[1 + g * {len(place.workers)}::bigint / {count}]"
    length, record = len(kind.facts), f"{lease} + 1" if taken else "null"
    done = int(kind.state == "COMPLETED")
    envelopes = f"""
        insert into tenure.execution (uid, tenant, created_at, ready_at, next_queue_key, priority, seq, revision,
            state, deferred, slots_free, slots_done, last_record, head)
        select {uid}, {place.tenant}, {born}, {kind.ready}, '{place.queue_key}', g % 3, {length}, {length},
            '{kind.state}', {kind.ready != "null"}, {int(not taken)}, {done}, {record}, {head}
        from {series}"""
    others = [
        f"""
        insert into tenure.subject (uid, tenant, template, properties, created_at)
        select {uid}, {place.tenant}, {place.template}, '{{}}', {born} from {series}""",
        f"""
        insert into tenure.fact (thread, tenant, at, seq, revision, state, type, actor, queue_key, lease, worker, hash)
        select {uid}, {place.tenant}, {born}, f.seq, f.seq, f.state::tenure.state, f.type, 'user:ada',
            '{place.queue_key}', case when f.seq > 1 then {lease} end, case when f.seq > 1 then {worker} end, {head}
        from {series}, (values {", ".join(map(str, kind.facts))}) f(seq, state, type)""",
    ]
    if kind.attempt is not None:
        others.append(f"""
        insert into tenure.attempt (uid, tenant, subject, queue, worker, attempt_number, ttl_seconds, start_revision,
            start_state, claimed_at, started_at, token_hash, lease_status, record_status, end_state, end_revision,
            expires_at, ended_at)
        select {lease}, {place.tenant}, {uid}, {place.queue}, {worker}, 1, 900, 1,
            'READY', {born}, {born}, '\\x{TOKEN.hex()}', {kind.attempt}
        from {series}""")
    return envelopes, others
