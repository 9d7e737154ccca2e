"""What the border reads: a few rows by index, however many submissions there are (design 07, Plans that hold)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tenure import Tenure
from tenure.embedded.dsn import with_database
from tenure.remote.port import SCAN
from tenure.sdk.session import opened
from tenure.store.postgres.statements import text
from tests.remote.border import SPEC
from tests.store.plan import Plan

MANY = 30_000
_FILL = """
insert into tenure.remote_submission (uid, tenant, subject, node, workspace_id, job_id, idempotency_key, command,
    command_hash, placement, trace_id, accepted_at, projection_state, projection_round, projected_at, seq, head)
select 2 ^ 40 + 2 * (n + %(beyond)s), %(tenant)s, 2 ^ 41 + 2 * (n + %(beyond)s), %(node)s, 'ws-' || n %% 10,
    'job-' || n, 'key-' || n, '{}',
    sha256('x'), '{}', 't', now(), 'succeeded', 1, now(), 6, sha256('x')
from generate_series(1, %(many)s) n
"""
_EXECUTIONS = """
insert into tenure.remote_execution (submission, number, tenant, node, execution_id, attempt, state, wanted, open,
    handed_out_at)
select 2 ^ 40 + 2 * (n + %(beyond)s), 1, %(tenant)s, %(node)s, 'x' || n, n,
    case when n %% 1000 = 0 then null else 'completed' end,
    true, n %% 1000 = 0, now()
from generate_series(1, %(many)s) n
"""
_FACTS = """
insert into tenure.fact (thread, seq, tenant, at, type, actor, data, hash)
select 2 ^ 40 + 2 * (n + %(beyond)s), seq, %(tenant)s, now(), 'execution_event.received', 'agent:n',
    '{"number": 1, "state": "failed", "result_ref": {"output_uri": "s3://out"}}', sha256('x')
from generate_series(1, %(many)s) n, generate_series(1, 2) seq
"""
_INBOX = """
insert into tenure.inbox
select %(tenant)s, 'remote.n', 'event-' || n, sha256('x'), 'agent:n', now()
from generate_series(1, %(many)s) n where %(beyond)s >= 0
"""
_REFUSALS = """
insert into tenure.refusal (tenant, at, code, action, actor, message, subject)
select %(tenant)s, now(), 'invalid_transition', 'receive_execution_event', 'agent:n', 'no', 2 ^ 41 + 2 + 2 * %(beyond)s
from generate_series(1, %(many)s) n
"""
FIRST = 2**40 + 2


@pytest.fixture(scope="module")
def crowded(admin: psycopg.Connection, pg_server: str, migrated_template: str) -> Iterator[dict[str, Any]]:
    """A node with very many submissions, on a connection as clients have it."""
    admin.execute(f"create database borderplans template {migrated_template} strategy file_copy")  # type: ignore[call-overload]
    dsn = with_database(pg_server, "borderplans")
    with Tenure(dsn) as client:
        client.define_node("n", **SPEC)
        tenant = client.caller.tenant
        principal = client.principal("agent:n").uid
    with psycopg.connect(dsn, autocommit=True) as connection:
        (node,) = connection.execute("select uid from tenure.management_node").fetchone() or (0,)
        connection.execute("set session_replication_role = replica")
        for statement in (_FILL, _EXECUTIONS, _FACTS, _INBOX, _REFUSALS):
            connection.execute(statement, {"tenant": tenant, "node": node, "many": MANY, "beyond": 0})
            for other in range(1, 5):
                others = {"tenant": other, "node": other, "many": MANY // 5, "beyond": other * MANY}
                connection.execute(statement, others)
        connection.execute("set session_replication_role = origin")
        connection.execute("analyze")
        opened(connection)
        yield {"connection": connection, "tenant": tenant, "node": node, "principal": principal}
    admin.execute("drop database borderplans with (force)")


def plan_of(crowded: dict[str, Any], name: str, **params: Any) -> Plan:
    connection = crowded["connection"]
    given = {"tenant": crowded["tenant"]} | params
    explained = f"explain (analyze, buffers, format json) {text(name)}"
    document = connection.execute(explained, given, prepare=False).fetchone()
    assert document is not None
    return Plan(name, document[0][0]["Plan"])


_ANY = {
    "workspace_id": None,
    "job_id": None,
    "node": None,
    "projection_state": None,
    "before": 2**62,
    "limit": 51,
    "scan": 51,
}
_SIFTED = {"scan": SCAN}
#: What is asked, the index of the large table that answers it, and how many rows it may read.
SUBMISSION, EXECUTION = "remote_submission", "remote_execution"
ASKED: dict[str, tuple[str, dict[str, Any], str, str, int]] = {
    "by key": ("submission_by_key", {"workspace_id": "ws-7", "idempotency_key": "key-17"}, SUBMISSION, "key", 5),
    "by uid": ("submissions", {"uids": [FIRST, FIRST + 20]}, SUBMISSION, "pkey or recent", 10),
    "by subject": ("submissions_of_subjects", {"subjects": [2**41 + 2]}, SUBMISSION, "subject_key", 5),
    "the newest": ("list_submissions", _ANY, SUBMISSION, "recent", 200),
    "of a job": ("list_submissions_of_job", _ANY | {"job_id": "job-17"}, SUBMISSION, "job", 10),
    "to a node": ("list_submissions_of_node", _ANY, SUBMISSION, "node", 200),
    "that failed": ("list_submissions", _ANY | _SIFTED | {"projection_state": "failed"}, SUBMISSION, "recent", SCAN),
    "of a workspace": ("list_submissions", _ANY | _SIFTED | {"workspace_id": "none"}, SUBMISSION, "recent", SCAN),
    "to a node, that failed": (
        "list_submissions_of_node", _ANY | _SIFTED | {"projection_state": "failed"}, SUBMISSION, "node", SCAN,
    ),
    "from there on": ("submissions_after", {"after": FIRST + 1000, "limit": 50}, SUBMISSION, "pkey", 200),
    "executions": ("remote_executions", {"submissions": [FIRST, FIRST + 20]}, EXECUTION, "pkey", 10),
    "results": ("remote_results", {"submission": FIRST}, "fact", "pkey", 2),
    "open executions": ("open_executions", {}, EXECUTION, "open", 120),
    "refusals": ("newest_refusals", {"subject": 2**41 + 2, "before": 2**62, "limit": 50}, "refusal", "subject", 50),
    "known events": (
        "known_events", {"sources": ["remote.n"] * 2, "ids": ["event-1", "event-0"]}, "inbox", "pkey", 10,
    ),
}  # fmt: skip


@pytest.mark.parametrize("role", ["owner", "server"])
@pytest.mark.parametrize("what", ASKED)
def test_it_is_found_by_its_index(crowded: dict[str, Any], what: str, role: str) -> None:
    """For the owner of the schema, and for a server behind the wall of row-level security."""
    if role == "server":
        crowded["connection"].execute("select set_config('tenure.tenant', %s, false)", [str(crowded["tenant"])])
        crowded["connection"].execute("set role tenure_api")
    try:
        _look(crowded, what)
    finally:
        crowded["connection"].execute("reset role")


def _look(crowded: dict[str, Any], what: str) -> None:
    name, params, table, index, most = ASKED[what]
    if "node" in text(name) and (name.endswith("_of_node") or name == "open_executions"):
        params = params | {"node": crowded["node"]}
    plan = plan_of(crowded, name, **params)
    used = {node.get("Index Name", node["Node Type"]) for node in plan.scans({table})}
    assert used <= {f"{table}_{each}" for each in index.split(" or ")}
    assert plan.rows_read({SUBMISSION, EXECUTION, "fact", "inbox", "refusal"}) <= most
