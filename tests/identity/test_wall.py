"""The second wall: whatever a statement asks for, a server's role sees and writes the rows of one tenant (design 05, Roles)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.identity.populated import Population, populate

#: Relations without a tenant: what they hold is the same for everybody.
SHARED = {"fact_type", "migration", "api_right", "relay_right"}
#: What is no evidence, and is thinned out by those who write it.
TELEMETRY = {"queue_sample"}
#: What is kept for a time: by then whoever writes it may remove it, and the law keeps what is younger.
FOR_A_TIME = {"inbox", "delivery"}
#: Functions above the wall, and whether anybody may call them: those ask themselves what the caller may see.
DEFINERS = {
    "authenticate": False, "signing_in": False, "signed_in_elsewhere": False, "in_order": True, "ahead_in_order": True,
    "claimable_in_order": True, "ended_leases": True,
}  # fmt: skip


@pytest.fixture(scope="module")
def people(module_database: str) -> Population:
    """Two tenants, each with something in every table."""
    return populate(module_database)


@pytest.fixture(scope="module")
def owner(people: Population) -> Iterator[psycopg.Connection]:
    """The owner's connection, which no wall stops."""
    with psycopg.connect(people.dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture(params=["direct", "pooled"])
def server(people: Population, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """A connection as a server has it, in a transaction that is rolled back."""
    dsn = people.dsn if request.param == "direct" else request.getfixturevalue("pooled")(people.dsn)
    with psycopg.connect(dsn, prepare_threshold=None) as connection:
        connection.execute("set local role tenure_api")
        yield connection
        connection.rollback()


def as_tenant(server: psycopg.Connection, tenant: int | None) -> psycopg.Connection:
    server.execute("select set_config('tenure.tenant', %s, true)", [str(tenant) if tenant else ""])
    return server


def relations(owner: psycopg.Connection, kinds: str = "rpv") -> dict[str, str]:
    """Every table and view, with the column that says whose a row is."""
    rows = owner.execute(
        """
        select c.relname, max(case when c.relname = 'tenant' and a.attname = 'uid' then 'uid'
                                   when c.relname <> 'tenant' and a.attname = 'tenant' then 'tenant' end)
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        where c.relnamespace = 'tenure'::regnamespace and c.relkind = any (%s::"char"[]) group by 1
        """,
        [list(kinds)],
    ).fetchall()
    return dict(rows)


def counted(connection: psycopg.Connection, relation: str, key: str, tenants: list[int]) -> int:
    query = sql.SQL("select count(*) from tenure.{} where {} = any (%s)").format(
        sql.Identifier(relation), sql.Identifier(key)
    )
    row = connection.execute(query, [tenants]).fetchone()
    assert row is not None
    return int(row[0])


def test_every_table_says_whose_its_rows_are_and_stands_behind_the_wall(owner: psycopg.Connection) -> None:
    assert {relation for relation, key in relations(owner, "rp").items() if key is None} == SHARED
    walled = owner.execute(
        """
        select c.relname from pg_class c join pg_policy p on p.polrelid = c.oid
        where c.relnamespace = 'tenure'::regnamespace and c.relrowsecurity
            and p.polname = 'own_tenant' and not p.polpermissive and p.polcmd = '*'
        """
    ).fetchall()
    assert {name for (name,) in walled} == set(relations(owner, "rp")) - SHARED


def test_every_view_shows_what_its_reader_may_see(owner: psycopg.Connection) -> None:
    views = owner.execute(
        """
        select relname, coalesce(array_to_string(reloptions, ','), '') from pg_class
        where relnamespace = 'tenure'::regnamespace and relkind = 'v'
        """
    ).fetchall()
    assert [name for name, options in views if "security_invoker=true" not in options] == []


def test_only_a_few_functions_run_above_the_wall(owner: psycopg.Connection) -> None:
    definers = owner.execute(
        """
        select proname, array_to_string(proconfig, ','), has_function_privilege('public', oid, 'execute')
        from pg_proc where pronamespace = 'tenure'::regnamespace and prosecdef
        """
    ).fetchall()
    assert {name: public for name, _, public in definers} == DEFINERS
    assert all(path.startswith("search_path=pg_catalog, pg_temp") for _, path, _ in definers)


_IN_ORDER = """
select count(*) from tenure.in_order(%s, 'q', -32768, '-infinity', '-infinity', '-infinity', 0, 100)
"""
_CLAIMABLE = _IN_ORDER.replace("in_order", "claimable_in_order")
_ENDED = "select count(*) from tenure.ended_leases(%s, 'RELEASED', 9e18::bigint, null, null, 100)"
_AHEAD = "select tenure.ahead_in_order(%s, 'q', 32767, 'infinity', 'infinity', 'infinity', 9e18::bigint, 100)"


@pytest.mark.parametrize("asked", [_IN_ORDER, _CLAIMABLE, _AHEAD, _ENDED])
def test_the_order_of_a_queue_is_shown_to_whoever_may_see_its_subjects(
    owner: psycopg.Connection, server: psycopg.Connection, people: Population, asked: str
) -> None:
    def seen(connection: psycopg.Connection, tenant: int) -> int:
        row = connection.execute(asked, [tenant]).fetchone()
        assert row is not None
        return int(row[0])

    ours, theirs = seen(owner, people.ours), seen(owner, people.theirs)
    assert ours == theirs > 0
    for tenant, expected in ((people.ours, (ours, 0)), (people.theirs, (0, theirs)), (None, (0, 0))):
        as_tenant(server, tenant)
        assert (seen(server, people.ours), seen(server, people.theirs)) == expected
    with psycopg.connect(people.dsn) as fresh:
        fresh.execute("set role tenure_api")
        assert (seen(fresh, people.ours), seen(fresh, people.theirs)) == (0, 0)


@pytest.mark.parametrize("granted", [True, False])
def test_a_role_that_a_dba_made_sees_the_order_where_it_may_read_subjects(
    owner: psycopg.Connection, people: Population, granted: bool
) -> None:
    with owner.transaction(force_rollback=True):
        owner.execute("create role reporter; grant usage on schema tenure to reporter")
        if granted:
            owner.execute("grant select on all tables in schema tenure to reporter")
        owner.execute("set local role reporter")
        assert owner.execute(_IN_ORDER, [people.ours]).fetchone() == ((1,) if granted else (0,))
        if granted:
            assert counted(owner, "subject", "tenant", [people.ours, people.theirs]) > 0


def test_the_population_has_something_of_each_tenant_everywhere(owner: psycopg.Connection, people: Population) -> None:
    empty = [
        (relation, tenant) for relation, key in relations(owner).items() if key is not None
        for tenant in (people.ours, people.theirs) if not counted(owner, relation, key, [tenant])
    ]  # fmt: skip
    assert empty == []


def test_nothing_of_another_tenant_is_seen(
    owner: psycopg.Connection, server: psycopg.Connection, people: Population
) -> None:
    for mine, other in ((people.ours, people.theirs), (people.theirs, people.ours)):
        as_tenant(server, mine)
        for relation, key in relations(owner).items():
            if key is None or relation in SHARED:
                continue
            if relation in ("principal", "access_token"):
                assert counted(server, relation, key, [mine]) == counted(owner, relation, key, [mine])
            assert counted(server, relation, key, [other]) == 0, relation
            assert counted(server, relation, key, [mine]) == counted(owner, relation, key, [mine]) > 0, relation


@pytest.mark.parametrize("unset", [None, 0, 2**62])
def test_without_a_tenant_nothing_is_seen(
    owner: psycopg.Connection, server: psycopg.Connection, people: Population, unset: int | None
) -> None:
    as_tenant(server, unset)
    for relation, key in relations(owner).items():
        if key is not None:
            assert counted(server, relation, key, [people.ours, people.theirs]) == 0, relation


def test_a_session_that_never_set_a_tenant_sees_nothing(people: Population) -> None:
    with psycopg.connect(people.dsn) as connection:
        connection.execute("set role tenure_api")
        row = connection.execute("select count(*) from tenure.subject").fetchone()
        assert row == (0,)


def test_nothing_is_written_for_another_tenant(
    owner: psycopg.Connection, server: psycopg.Connection, people: Population
) -> None:
    for tenant in (people.ours, None):
        as_tenant(server, tenant)
        for relation, key in relations(owner, "rp").items():
            if key is None:
                continue
            assert _insert(owner, server, relation, key, people.theirs) in ("42501", "428C9"), f"insert into {relation}"
            touched = _try(server, sql.SQL("update tenure.{0} set {1} = {1} where {1} = %s").format(
                sql.Identifier(relation), sql.Identifier(key)), people.theirs)  # fmt: skip
            assert touched in (0, "42501"), f"update of {relation}"
            given = _try(server, sql.SQL("update tenure.{0} set {1} = %s").format(
                sql.Identifier(relation), sql.Identifier(key)), people.theirs)  # fmt: skip
            assert given in (0, "42501", "TN001", "TN002", "TN003"), f"giving away {relation}: {given}"
            gone = _try(server, sql.SQL("delete from tenure.{}").format(sql.Identifier(relation)))
            if relation in TELEMETRY:
                assert gone == counted(owner, relation, key, [tenant or 0])
            elif relation in FOR_A_TIME:
                assert gone == ("TN001" if tenant else 0)
            else:
                assert gone == "42501", f"delete from {relation}"
            assert _try(server, sql.SQL("truncate tenure.{} cascade").format(sql.Identifier(relation))) == "42501"


def test_what_proves_somebody_is_not_read_even_of_ones_own_tenant(
    server: psycopg.Connection, people: Population
) -> None:
    as_tenant(server, people.ours)
    for column in ("access_token.digest", "principal.password_hash", "signing_key.key"):
        table, name = column.split(".")
        assert (
            _try(server, sql.SQL("select {} from tenure.{}").format(sql.Identifier(name), sql.Identifier(table)))
            == "42501"
        )


def test_the_wall_cannot_be_taken_down_from_behind_it(server: psycopg.Connection, people: Population) -> None:
    as_tenant(server, people.ours)
    for attempt in (
        "set local row_security = off", "alter table tenure.subject disable row level security",
        "drop policy own_tenant on tenure.subject", "alter table tenure.subject disable trigger all",
        "set local session_replication_role = replica", "select tenure.admit_api()",
        "create table tenure.mine (x int)", "select rights from tenure.api_right",
        "create function tenure.now2() returns int language sql return 1",
    ):  # fmt: skip
        told = _try(server, sql.SQL(attempt))  # type: ignore[arg-type]
        if told != "42501":  # row_security = off is allowed to say, and then reading is refused
            assert _try(server, sql.SQL("set local row_security = off; select from tenure.subject")) == "42501", attempt


def test_the_owner_is_above_the_wall(owner: psycopg.Connection, people: Population) -> None:
    plan = owner.execute("explain select * from tenure.subject").fetchall()
    assert "current_tenant" not in str(plan)


def _insert(owner: psycopg.Connection, server: psycopg.Connection, relation: str, key: str, tenant: int) -> Any:
    """Try to insert a row as another tenant has it."""
    columns = [
        name for (name,) in owner.execute(
            """
            select attname from pg_attribute where attrelid = ('tenure.' || %s)::regclass and attnum > 0
                and not attisdropped and attgenerated = '' and attidentity = ''
            """, [relation],
        ).fetchall()
    ]  # fmt: skip
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    row = owner.execute(
        sql.SQL("select {} from tenure.{} where {} = %s limit 1").format(
            sql.SQL(", ").join(sql.SQL("{}::text").format(sql.Identifier(c)) for c in columns),
            sql.Identifier(relation), sql.Identifier(key),
        ), [tenant],
    ).fetchone()  # fmt: skip
    assert row is not None, relation
    values = sql.SQL(", ").join(sql.Literal(value) for value in row)
    return _try(
        server, sql.SQL("insert into tenure.{} ({}) values ({})").format(sql.Identifier(relation), names, values)
    )


def _try(server: psycopg.Connection, statement: sql.Composable, *values: Any) -> int | str:
    """How many rows it touched, or the SQLSTATE of what refused it; undone either way."""
    try:
        with server.transaction(force_rollback=True):
            return server.execute(statement, values or None).rowcount
    except psycopg.Error as error:
        return str(error.sqlstate)
