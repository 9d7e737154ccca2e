"""Behind the wall every statement keeps its indexes: plans of a server's role beside those of the owner, which has no wall.

Another tenant's hundred thousand rows lie in the way: whatever read them would show.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from tenure.engine.authentication import authenticate
from tenure.ledger.horizon import Horizon
from tenure.model.ordering import OrderKey, order_key
from tenure.model.states import LeaseStatus
from tenure.sdk import operations as ops
from tenure.sdk.token import Token
from tenure.store.operation import Op
from tenure.store.postgres.statements import names
from tests.store.actions import Lab
from tests.store.crowd import Crowd, Place, settle
from tests.store.explained import Explained, Ran
from tests.store.hot import ACTS, Act, Scene

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

TABLES = frozenset({
    "tenant", "template", "queue", "worker", "subject", "execution", "attempt", "fact", "hold", "dead_letter", "link",
    "refusal", "principal", "access_token",
})  # fmt: skip
#: Of these there are few: they may be looked up once more for each row of another, but never gone through.
FEW = frozenset({"tenant", "template", "queue", "worker"})
THEIRS = Crowd(waiting=60_000, deferred=10_000, live=10_000, finished=20_000)
OURS = Crowd(waiting=2_000, deferred=200, live=2_000, finished=1_000)
RIPE = Crowd(ripe=1_200, lapsed=1_200)
SECRET = Token("tenure_secret")
#: What a server does not run: checking everything is for whoever is trusted with the database, runs have tests of their own,
#: and planning before there is work, and standing claims, are for workers.
NOT_SERVED = {
    "data_divergences", "evidence", "loose_dead_letters", "orphaned_subjects", "overlapping_leases", "owners_after",
    "subject_count", "subjects_after", "unproved_data", "unregistered_fact_types", "untold_attempts", "insert_tenant",
    "wait_briefly", "leave_claim", "move_claim", "withdraw_claim", "await_answers", "taken_under", "server_clock",
}  # fmt: skip
#: Statements of workflow runs, whose plans tests/flow/test_costs.py looks at on both sides of the wall.
RUNS = re.compile(
    r"schedule|journal|checkpoint|run|workflow|wake|payloads|results|^hand_over$|^look_at_steps$|^moment$"
)
#: Statements of subscriptions and of the inbox, whose plans tests/ledger/test_plans.py looks at.
LEDGER = re.compile(
    r"subscription|signing_key|relay|park|held|hold_events|given_up|event_dead_letter|waiting|prior_of_subscription|retention|forget_removed|clean_|inbox_cleared|deliver|cursor|wanted|fact_types|open_at|tak.*_in"
)
#: Statements of submissions and nodes, whose plans tests/remote/test_plans.py looks at on both sides of the wall.
BORDER = re.compile(r"node|submission|remote|open_executions|known_events|newest_refusals")


@dataclass
class Lived:
    """Our tenant beside theirs, both with work of every kind."""

    dsn: str
    tenant: int = 0
    scene: Scene = field(default=None)  # type: ignore[assignment]
    subject: int = 0
    lease: int = 0
    worker: int = 0
    late: OrderKey | None = None
    """The place of a subject that three quarters of the queue come before."""


def _settled(dsn: str, key: str, crowd: Crowd) -> tuple[Lab, Scene]:
    lab = Lab(dsn, key)
    lab.connection.execute("reset tenure.now")
    queue, ripe = lab.define("main"), lab.define("ripe")
    others = [lab.define(f"other{n}").queue_key for n in range(100)]
    holders = [lab.register(f"holder{n}", max_concurrent_leases=100_000) for n in range(3)]
    idle = lab.register("idle", max_concurrent_leases=100_000)
    (template,) = lab.sql("select uid from tenure.template where code = 'task/job/1.0' and tenant = %s", lab.tenant)[0]
    place = Place(lab.tenant, template, queue.uid, "main", tuple(w.uid for w in holders))
    settle(dsn, place, crowd)
    settle(dsn, Place(lab.tenant, template, ripe.uid, "ripe", place.workers), RIPE)
    lab.sql("set session_replication_role = replica")
    for statement in _TROUBLE:
        lab.sql(statement.format(tenant=lab.tenant, queue=queue.uid, worker=idle.uid))
    lab.sql("set session_replication_role = origin")
    lab.sql("set session_replication_role = replica")
    lab.sql(
        "update tenure.subject set name = 'sample-' || uid, correlation_id = 'c' || uid %% 100"
        " where tenant = %s and uid %% 3 = 0", lab.tenant,
    )  # fmt: skip
    lab.sql(
        "update tenure.attempt set lease_status = case when uid %% 5 = 0 then 'RELEASED' else 'EXPIRED' end::tenure.lease_status,"
        " record_status = 'EXPIRED' where tenant = %s and lease_status = 'COMPLETED' and uid %% 3 = 0", lab.tenant,
    )  # fmt: skip
    lab.sql("set session_replication_role = origin")
    leases = lab.sql(
        "select uid from tenure.attempt where worker = %s and queue = %s and lease_status = 'ACTIVE' order by uid desc limit 600",
        holders[0].uid, queue.uid,
    )  # fmt: skip
    subjects = lab.sql(
        "select uid from tenure.execution where tenant = %s and claimable order by uid desc limit 600", lab.tenant
    )
    scene = Scene(
        lab.caller, "main", "ripe", ["main", "ripe", *others], idle, holders[0], [uid for (uid,) in leases],
        [uid for (uid,) in subjects],
    )  # fmt: skip
    return lab, scene


#: What went wrong and who there is, for a thousand subjects of the tenant; past the law, as ``crowd`` does.
_SOME = "(select uid, row_number() over () n from tenure.execution where tenant = {tenant} limit 1000) e"
_TROUBLE = tuple(statement + f" from {_SOME}" for statement in (
    """insert into tenure.hold (uid, tenant, subject, status, hold_code, reason, placed_by, placed_at)
    select nextval('tenure.uid'), {tenant}, e.uid, 'ACTIVE', 'X', 'x', 'user:ada', now()""",
    """insert into tenure.dead_letter (uid, tenant, subject, queue, attempt, dead_lettered_at, failure_count, error_class,
        resolution_state)
    select nextval('tenure.uid'), {tenant}, e.uid, {queue}, e.uid + 2, now(), 1, 'X', 'OPEN'""",
    """insert into tenure.link (parent, child, relation, tenant, created_at)
    select e.uid, e.uid + 4, 'parent', {tenant}, now()""",
    """insert into tenure.refusal (tenant, at, code, action, actor, subject, message)
    select {tenant}, now(), 'not_claimable', 'claim_queue_item', 'user:ada', e.uid, 'x'""",
    """insert into tenure.principal (uid, tenant, name, display_name, roles, status, revision, created_at, seq, head)
    select e.uid + 1, {tenant}, 'user:p' || e.n, '', '{{}}', 'ACTIVE', 1, now(), 1, sha256('p')""",
    """insert into tenure.fact (thread, tenant, at, seq, revision, type, actor, hash)
    select e.uid + 1, {tenant}, now(), 1, 1, 'principal.created', 'user:ada', sha256('p')""",
    """insert into tenure.access_token (uid, tenant, principal, digest, kind, label, created_at, expires_at, created_seq)
    select nextval('tenure.uid'), {tenant}, e.uid + 1, sha256(e.uid::text::bytea), 'API', '', now(), now() + interval '1 day', 1""",
))  # fmt: skip


@pytest.fixture(scope="module")
def lived(module_database: str) -> Lived:
    theirs, _ = _settled(module_database, "theirs", THEIRS)
    theirs.close()
    lab, scene = _settled(module_database, "ours", OURS)
    made = Lived(module_database, lab.tenant, scene)
    item = lab.run(lab.store.items(lab.tenant, "main", 1500))[-1]
    made.late = order_key(item.envelope, item.eligible_at)
    made.subject = item.envelope.uid
    made.lease, made.worker = scene.leases[0], scene.holder.uid
    lab.close()
    with psycopg.connect(module_database, autocommit=True) as connection:
        connection.execute("vacuum analyze")
    return made


Look = Callable[[Lived], Op[Any]]


def _operation(operation: Callable[..., Op[Any]], *arguments: Any, **options: Any) -> Look:
    def look(lived: Lived) -> Op[Any]:
        given = [getattr(lived, a.removeprefix("@")) if isinstance(a, str) and a[0] == "@" else a for a in arguments]
        return operation(lived.scene.caller, *given, **options)

    return look


def _listed(op: Op[Any]) -> Op[list[Any]]:
    """What may be nothing, as a list."""
    return [(yield from op)]


def _proved(lived: Lived) -> Op[Any]:
    store = lived.scene.caller.store
    issued = yield from ops.create_token(lived.scene.caller, "user:p8")
    found = yield from authenticate(store, issued.secret.digest)
    yield from ops.revoke_token(lived.scene.caller, issued.access_token)
    return found


def _sampled(lived: Lived) -> Op[Any]:
    """Count all queues, and read what was counted."""
    caller = lived.scene.caller
    yield from ops.sample_queues(caller)
    yield from ops.queue_samples(caller, "main", since=datetime(2026, 1, 1, tzinfo=UTC))
    return (yield from caller.store.latest_counts(caller.tenant, ["main", "ripe"], 60))


def _late_items(lived: Lived) -> Op[Any]:
    """A page from a key on that lies behind three quarters of the queue."""
    order = lived.late
    return ops.queue_items(lived.scene.caller, "main", limit=50, after=order)


LOOKS: dict[str, Look] = {
    "why": _operation(ops.why, "@subject"),
    "inspect": _operation(ops.inspect, "@subject"),
    "history": _operation(ops.history, "@subject"),
    "lineage": _operation(ops.lineage, "@subject"),
    "facts": _operation(ops.facts, "@subject"),
    "find_subject": _operation(ops.find_subject, "ref"),
    "queues": _operation(ops.queues_all),
    "workers": _operation(ops.workers_all),
    "metrics": _operation(ops.metrics, ["main", "ripe"]),
    "items": _operation(ops.queue_items, "main", limit=50),
    "items later on": _late_items,
    "leases": _operation(ops.leases, limit=50),
    "all leases": _operation(ops.leases, None, limit=50),
    "leases of a queue": _operation(ops.leases, limit=50, queue_key="main"),
    "leases of a worker": _operation(
        lambda caller, lived_worker: ops.leases(caller, worker=lived_worker, limit=50), "@worker"
    ),
    "dead letters": _operation(ops.dead_letters, limit=50),
    "all dead letters": _operation(ops.dead_letters, open_only=False, limit=50),
    "holds": _operation(ops.holds, limit=50),
    "all holds": _operation(ops.holds, active_only=False, limit=50),
    "submit with parents": _operation(lambda caller, s: ops.submit(caller, queue_key="main", parents=[s]), "@subject"),
    "define a queue": _operation(ops.define_queue, "fresh"),
    "update a queue": _operation(ops.update_queue_policy, "main", lease_ttl_seconds=60, idempotency_key="u"),
    "queue that was retired": lambda lived: _listed(lived.scene.caller.store.retired_queue(lived.tenant, "main", "k")),
    "register a worker": _operation(ops.register_worker, "fresh"),
    "register it again": _operation(ops.register_worker, "idle"),
    "leases that expired": _operation(ops.leases, LeaseStatus.EXPIRED, limit=50),
    "define a template": _operation(ops.define_template, "fresh/1.0"),
    "tenant": lambda lived: lived.scene.caller.store.tenant("ours", create=False, actor="user:ada"),
    "known subjects": lambda lived: lived.scene.caller.store.known_subjects(lived.tenant, lived.scene.subjects),
    "origins": lambda lived: lived.scene.caller.store.origins(lived.tenant, lived.scene.subjects),
    "how far the ledger is": lambda lived: Horizon().look(lived.scene.caller.store),
    "ledger": lambda lived: lived.scene.caller.store.ledger_after(lived.tenant, 1, 2000, 100),
    "sample the queues": _sampled,
    "chosen items": _operation(ops.chosen_items, "main", site="north", limit=50),
    "chosen items later on": lambda lived: ops.chosen_items(
        lived.scene.caller, "main", site="north", limit=50, after=lived.late
    ),
    "subjects by name": _operation(ops.find_subjects, name="sample-1", limit=50),
    "subjects by correlation": _operation(ops.find_subjects, correlation_id="c1", limit=50),
    "subjects": _operation(ops.find_subjects, limit=50),
    "leases that were released": _operation(ops.leases, LeaseStatus.RELEASED, limit=50),
    "principals": _operation(ops.principals_all, limit=50),
    "create a principal": _operation(ops.create_principal, "user:fresh", roles=["admin"]),
    "change a principal": _operation(ops.change_principal, "user:p7", roles=["admin"]),
    "set a password": _operation(ops.set_password_hash, "user:p7", "$argon2id$v=19$x"),
    "tokens": _operation(ops.tokens, limit=50),
    "tokens of one": _operation(ops.tokens, "user:p7", limit=50),
    "create a token": _operation(ops.create_token, "user:p7"),
    "authenticate": _proved,
    "sign in": lambda lived: lived.scene.caller.store.signing_in("ours", "user:p7"),
    "sign in elsewhere": lambda lived: lived.scene.caller.store.signed_in_elsewhere("ours", "i", "s"),
}


@dataclass(frozen=True)
class Sessions:
    """The owner's and a server's, and whether they are connected as Tenure's own connections are."""

    owner: Explained
    server: Explained
    direct: bool


@pytest.fixture(scope="module", params=["direct", "pooled"])
def sessions(lived: Lived, request: pytest.FixtureRequest) -> Iterator[Sessions]:
    """The owner's session and a server's, both as Tenure sets them up; behind a pooler nothing is set, nothing prepared."""
    direct = request.param == "direct"
    mode = "force_generic_plan" if direct else "auto"
    owner, server = Explained(lived.dsn, mode, ours=direct), Explained(lived.dsn, mode, ours=direct)
    server.connection.execute("set role tenure_api")
    server.connection.execute("select set_config('tenure.tenant', %s, false)", [str(lived.tenant)])
    yield Sessions(owner, server, direct)
    owner.close()
    server.close()


SEEN: set[str] = set()


def _beside(sessions: Sessions, make: Callable[[], Op[Any]]) -> tuple[Any, list[tuple[Ran, Ran]]]:
    answers, runs = [], []
    for session in (
        sessions.server,
        sessions.owner,
    ):  # what the owner's changes leave behind is nobody's to wade through
        with session.undone():
            answer, ran = session.run(make())
        answers.append(answer)
        runs.append(ran)
    told = [[ran for ran in each if ran.statement != "templates"] for each in runs]  # a store remembers them
    assert [ran.statement for ran in told[0]] == [ran.statement for ran in told[1]]
    SEEN.update(ran.statement for each in runs for ran in each)
    return answers[0], list(zip(told[1], told[0], strict=True))


def _read(ran: Ran) -> dict[tuple[str, str], float]:
    """Rows that were read of each table by each index, by the statement and all below it."""
    read: dict[tuple[str, str], float] = {}
    for plan in (ran.plan, *ran.nested):
        for node in plan.scans(TABLES):
            key = (node["Relation Name"], _way(node))
            rows = node["Actual Loops"] * (node["Actual Rows"] + node.get("Rows Removed by Filter", 0))
            read[key] = read.get(key, 0) + rows
    return read


def _deep(read: dict[tuple[str, str], float]) -> set[tuple[str, str]]:
    return {key for key in read if key[0] not in FEW}


def _way(node: dict[str, Any]) -> str:
    """The index by which a scan reads; a bitmap is of one or several below it."""
    if "Index Name" in node:
        return str(node["Index Name"])
    below = sorted({_way(inner) for inner in node.get("Plans", ()) if "Bitmap" in inner["Node Type"]})
    return " and ".join(below) or str(node["Node Type"])


def _judge(pairs: list[tuple[Ran, Ran]], direct: bool, hot: bool = False) -> list[str]:
    """What is worse behind the wall. Behind a pooler, where nothing is set, only whether more is read.

    What is hot uses the very same indexes; what is not may use one that reads less.
    """
    told = []
    for owner, server in pairs:
        free, walled = _read(owner), _read(server)
        if direct and hot and _deep(walled) != _deep(free):
            told.append(f"{server.statement}: by {walled.keys() - free.keys()}, not by {free.keys() - walled.keys()}")
        told += [
            f"{server.statement}: {walled[key]:.0f} rows of {key}, {rows:.0f} without the wall"
            for key, rows in free.items() if walled.get(key, 0) > 1.1 * rows + 5 and key[0] not in FEW
        ]  # fmt: skip
        told += [
            f"{server.statement}: all of {key[0]}"
            for key in walled
            if direct and key[1] == "Seq Scan" and key not in free
        ]
        more, less = (sum(read[key] for key in _deep(read)) for read in (walled, free))
        if more > 1.1 * less + 10:
            told.append(f"{server.statement}: {more:.0f} rows altogether, {less:.0f} without the wall")
        told += [
            f"{server.statement}: {misdeed}"
            for misdeed in server.plan.misdeeds()
            if misdeed not in owner.plan.misdeeds()
        ]
        if direct and server.buffers > 2 * owner.buffers + (100 if hot else 400):
            told.append(f"{server.statement}: {server.buffers} pages, {owner.buffers} without the wall")
    return told


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.name)
def test_hot_statements_keep_their_indexes(sessions: Sessions, lived: Lived, act: Act) -> None:
    for batch in (1, min(500, act.batches[-1])):
        handled, pairs = _beside(sessions, lambda batch=batch: act.perform(lived.scene, batch))  # type: ignore[misc]
        assert handled >= 1
        assert _judge(pairs, sessions.direct, hot=True) == []


@pytest.mark.parametrize("look", LOOKS)
def test_other_statements_keep_their_indexes(sessions: Sessions, lived: Lived, look: str) -> None:
    answer, pairs = _beside(sessions, lambda: LOOKS[look](lived))
    assert pairs
    assert answer is not None or look == "find_subject"
    assert _judge(pairs, sessions.direct) == []


def test_every_statement_that_a_server_runs_was_looked_at(sessions: Sessions) -> None:
    missing = set(names()) - SEEN - NOT_SERVED
    elsewhere = (RUNS, LEDGER, BORDER)
    assert {name for name in missing if not any(names.search(name) for names in elsewhere)} == set()


def test_secrets_are_never_drawn_twice() -> None:
    assert Token.access().digest != Token.access().digest != SECRET.digest
