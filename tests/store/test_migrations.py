"""The migration runner: forward only, each step once, whoever and however many run it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from tenure.model.errors import StoreUnavailable
from tenure.store.postgres import migrate as runner
from tenure.store.postgres.migrate import known, migrate, pending, render_sql
from tenure.store.postgres.migration_errors import (
    DatabaseNewer,
    MigrationChanged,
    MigrationFailed,
    MigrationNotPermitted,
    ServerTooOld,
)

MIGRATE_ELSEWHERE = """
import sys
from pathlib import Path
from tenure.store.postgres.migrate import migrate
print(len(migrate(sys.argv[1], Path(sys.argv[2]))))
"""

CATALOG = """
select n.nspname, c.relname, c.relkind, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull
  from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
 where n.nspname in ('tenure', 'public') and a.attnum > 0
union all
select n.nspname, p.proname, 'f', pg_get_function_identity_arguments(p.oid), md5(p.prosrc), p.proisstrict
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname in ('tenure', 'public')
union all
select n.nspname, c.conname, c.contype, pg_get_constraintdef(c.oid), '', c.convalidated
  from pg_constraint c join pg_namespace n on n.oid = c.connamespace where n.nspname in ('tenure', 'public')
union all
select n.nspname, t.tgname, 't', pg_get_triggerdef(t.oid), '', true
  from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
 where n.nspname in ('tenure', 'public') and not t.tgisinternal
 order by 1, 2, 3, 4, 5
"""


@pytest.fixture
def steps(tmp_path: Path) -> Path:
    """A folder with two migrations, one of which counts how often it was applied."""
    (tmp_path / "0001_first.sql").write_text(
        "create table tenure.thing (id int primary key);\n"
        "create function tenure.twice(n int) returns int language sql as $f$ select n * 2 $f$;\n"
        "insert into tenure.thing values (1);\n"
    )
    (tmp_path / "0002_second.sql").write_text("alter table thing add column name text not null default '50%';")
    return tmp_path


@pytest.fixture
def poor_role(admin: psycopg.Connection) -> Iterator[str]:
    """A role that may log in and do nothing else."""
    admin.execute("create role poor login")
    yield "poor"
    admin.execute("drop role poor")


def rows(dsn: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn) as connection:
        return connection.execute(query.encode()).fetchall()


def as_role(dsn: str, role: str) -> str:
    return re.sub("://[^@/]*@", f"://{role}@", dsn)


def test_pending_lists_what_migrate_then_applies_once_and_in_order(database: str, steps: Path) -> None:
    assert [str(step) for step in pending(database, steps)] == ["0001_first", "0002_second"]
    assert rows(database, "select to_regclass('tenure.migration')") == [(None,)]

    applied = migrate(database, steps)

    assert [step.number for step in applied] == [1, 2]
    assert pending(database, steps) == []
    assert migrate(database, steps) == []
    recorded = rows(database, "select number, name, checksum from tenure.migration order by number")
    assert recorded == [(step.number, step.name, step.checksum) for step in applied]
    assert rows(database, "select id, name from tenure.thing") == [(1, "50%")]


def test_eight_processes_at_once_apply_each_step_once(database: str, steps: Path) -> None:
    command = [sys.executable, "-c", MIGRATE_ELSEWHERE, database, str(steps)]

    def run(_: int) -> int:
        return int(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)

    with ThreadPoolExecutor(8) as pool:
        applied = list(pool.map(run, range(8)))

    assert sum(applied) == 2
    assert rows(database, "select count(*) from tenure.thing") == [(1,)]


def test_many_connections_at_once_through_a_transaction_pooler_apply_each_step_once(
    database: str, steps: Path, pooled: Callable[[str], str]
) -> None:
    through_pooler = pooled(database)

    with ThreadPoolExecutor(8) as pool:
        applied = list(pool.map(lambda _: len(migrate(through_pooler, steps)), range(8)))

    assert sum(applied) == 2
    assert rows(database, "select count(*) from tenure.thing") == [(1,)]


def test_strict_isolation_as_the_roles_default_does_not_apply_a_step_twice(
    database: str, steps: Path, admin: psycopg.Connection
) -> None:
    name = str(conninfo_to_dict(database)["dbname"])
    admin.execute(
        sql.SQL("alter database {} set default_transaction_isolation = 'serializable'").format(sql.Identifier(name))
    )

    with ThreadPoolExecutor(8) as pool:
        applied = list(pool.map(lambda _: len(migrate(database, steps)), range(8)))

    assert sum(applied) == 2


def test_settings_of_the_role_do_not_change_what_a_migration_means(
    database: str, steps: Path, admin: psycopg.Connection
) -> None:
    name = str(conninfo_to_dict(database)["dbname"])
    admin.execute(sql.SQL("alter database {} set search_path = nowhere").format(sql.Identifier(name)))
    admin.execute(sql.SQL("alter database {} set statement_timeout = '1h'").format(sql.Identifier(name)))

    migrate(database, steps)

    assert rows(database, "select name from tenure.thing") == [("50%",)]
    assert rows(database, "show search_path") == [("nowhere",)]


def test_changed_file_of_an_applied_migration_is_refused(database: str, steps: Path) -> None:
    migrate(database, steps)
    (steps / "0001_first.sql").write_text("create table tenure.other ();")

    for action in (migrate, pending):
        with pytest.raises(MigrationChanged) as caught:
            action(database, steps)
        assert caught.value.code == "migration_changed"
        assert "0001_first" in caught.value.message


def test_what_was_worded_anew_with_the_same_effect_counts_as_applied(database: str) -> None:
    migrate(database)
    (former,) = runner._REWORDED["0009_flow"]
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("update tenure.migration set checksum = %s where number = 9", [former])
        assert pending(database) == []
        connection.execute("update tenure.migration set checksum = %s where number = 8", [former])
        with pytest.raises(MigrationChanged):
            pending(database)


def test_line_ends_of_another_system_are_no_change(database: str, steps: Path) -> None:
    migrate(database, steps)
    file = steps / "0001_first.sql"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))

    assert pending(database, steps) == []


def test_database_of_a_newer_version_is_refused(database: str, steps: Path) -> None:
    migrate(database, steps)
    (steps / "0002_second.sql").unlink()

    for action in (migrate, pending):
        with pytest.raises(DatabaseNewer) as caught:
            action(database, steps)
        assert caught.value.code == "database_newer"
        assert "Upgrade Tenure" in caught.value.hint


def test_old_server_is_refused(database: str, steps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "MINIMUM_SERVER", 990000)

    with pytest.raises(ServerTooOld) as caught:
        migrate(database, steps)

    assert caught.value.code == "server_too_old"


def test_role_without_rights_is_told_what_to_grant(database: str, steps: Path, poor_role: str) -> None:
    with pytest.raises(MigrationNotPermitted) as caught:
        migrate(as_role(database, poor_role), steps)

    assert caught.value.code == "migration_not_permitted"
    assert "grant create on database" in caught.value.hint
    assert rows(database, "select to_regnamespace('tenure')") == [(None,)]


def test_role_without_rights_may_run_when_nothing_is_pending(database: str, steps: Path, poor_role: str) -> None:
    migrate(database, steps)
    with psycopg.connect(database) as connection:
        connection.execute("grant usage on schema tenure to poor")
        connection.execute("grant select on tenure.migration to poor")

    assert migrate(as_role(database, poor_role), steps) == []

    with psycopg.connect(database) as connection:
        connection.execute("drop owned by poor")


def test_failed_step_leaves_nothing_of_itself_and_keeps_the_steps_before(database: str, steps: Path) -> None:
    (steps / "0002_second.sql").write_text("create table tenure.half (); select 1 / 0;")

    with pytest.raises(MigrationFailed) as caught:
        migrate(database, steps)

    assert caught.value.code == "migration_failed"
    assert "0002_second" in caught.value.message
    assert "division by zero" in caught.value.message
    assert rows(database, "select to_regclass('tenure.half'), max(number) from tenure.migration") == [(None, 1)]


def test_unreachable_server_is_told_in_words(steps: Path) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        migrate("postgresql://nobody@/none?host=/nowhere", steps)

    assert "TENURE_DSN" in caught.value.hint


@pytest.mark.parametrize(
    "names", [["0002_b.sql"], ["0001_a.sql", "0003_c.sql"], ["0001_a.sql", "0001_b.sql"], ["1.sql"]]
)
def test_files_out_of_order_are_refused(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).write_text("select 1;")

    with pytest.raises(ValueError, match="igration"):
        known(tmp_path)


def test_rendered_script_run_by_psql_gives_the_same_catalog(
    database: str, steps: Path, psql: Callable[[str, str], str]
) -> None:
    psql(database, render_sql(folder=steps))

    assert pending(database, steps) == []
    by_script = rows(database, CATALOG)
    with psycopg.connect(database) as connection:
        connection.execute("drop schema tenure cascade")
    migrate(database, steps)
    assert rows(database, CATALOG) == by_script


def test_products_own_migrations_rendered_as_a_script_give_the_same_catalog(
    database: str, migrated_database: str, psql: Callable[[str, str], str]
) -> None:
    psql(database, render_sql())

    assert pending(database) == []
    assert rows(database, CATALOG) == rows(migrated_database, CATALOG)


def test_rendered_script_from_a_number_has_only_what_follows(
    database: str, steps: Path, psql: Callable[[str, str], str]
) -> None:
    (steps / "0002_second.sql").rename(steps / "later")
    migrate(database, steps)
    (steps / "later").rename(steps / "0002_second.sql")

    script = render_sql(1, steps)
    psql(database, script)

    assert "0001_first" not in script
    assert pending(database, steps) == []


def test_rendered_script_run_twice_stops_without_a_change(
    database: str, steps: Path, psql: Callable[[str, str], str]
) -> None:
    psql(database, render_sql(folder=steps))

    with pytest.raises(subprocess.CalledProcessError) as caught:
        psql(database, render_sql(folder=steps))

    assert "is not the next one" in caught.value.stderr
    assert rows(database, "select count(*) from tenure.thing") == [(1,)]
