"""up, down, status, migrate and bench: the commands about the database itself."""

import httpx
import psycopg
import pytest


def test_migrate_tells_what_it_would_do_and_does_it_once(typed, database, monkeypatch):
    monkeypatch.setenv("TENURE_DSN", database)
    assert len(typed("migrate", "--status", "--json").json["pending"]) > 3
    assert len(typed("migrate", "--json").json["applied"]) > 3
    assert typed("migrate", "--json").json["applied"] == []
    assert "up to date" in typed("status").out


def test_migrate_prints_a_script_that_needs_no_database(typed):
    script = typed("migrate", "--sql")
    assert script.code == 0
    assert "create table" in script.out


def test_a_database_without_the_schema_says_how_to_get_it(typed, database, monkeypatch):
    monkeypatch.setenv("TENURE_DSN", database)
    answer = typed("queue", "list")
    assert (answer.code, "tenure migrate" in answer.err) == (3, True)


def test_up_status_and_down_start_find_and_stop_the_embedded_server(typed, make_cluster, monkeypatch, short_folder):
    cluster = make_cluster(short_folder / "cli-up")
    monkeypatch.setenv("TENURE_HOME", str(cluster.data_dir))
    assert typed("status").code == 3
    up = typed("up", "--json").json
    assert (up["embedded"], up["data"].startswith(str(short_folder))) == (True, True)
    with psycopg.connect(up["dsn"]) as connection:
        assert connection.execute("select count(*) > 3 from tenure.migration").fetchone() == (True,)
    assert typed("status", "--json").json["pending_migrations"] == []
    assert typed("down", "--json").json == {"stopped": True, "server_stopped": False}
    assert typed("status").code == 3
    assert "Nothing was running" in typed("down").out


@pytest.mark.slow
def test_up_with_a_server_leaves_one_running_until_down(typed, make_cluster, monkeypatch, short_folder):
    cluster = make_cluster(short_folder / "cli-serve")
    monkeypatch.setenv("TENURE_HOME", str(cluster.data_dir))
    up = typed("up", "--serve", "--json").json
    try:
        assert httpx.get(f"{up['address']}/health/ready").json()["status"] == "ok"
        assert typed("down", "--json").json == {"stopped": True, "server_stopped": True}
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{up['address']}/health/live")
    finally:
        typed("down")


def test_a_password_is_never_shown(typed, migrated_database, monkeypatch):
    monkeypatch.setenv("TENURE_DSN", migrated_database + "&password=s3cret")
    for command in ("up", "status", "top"):
        answer = typed(command, *(["--once"] if command == "top" else []))
        assert answer.code == 0
        assert "s3cret" not in answer.out + answer.err


def test_bench_measures_both_sides_and_leaves_nothing_behind(typed, migrated_database, admin, monkeypatch):
    monkeypatch.setenv("TENURE_DSN", migrated_database)
    measured = typed("bench", "--jobs", "100", "--rounds", "1", "--json")
    assert measured.code == 0
    measures = {measure["name"]: measure for measure in measured.json["measures"]}
    assert set(measures) == {
        "drain, 1 worker process", "submit in bulk", "submit one by one", "submit to start, p50", "submit to start, p99",
    }  # fmt: skip
    assert all(measure["bare"][0] > 0 and measure["tenure"][0] > 0 for measure in measures.values())
    assert admin.execute("select count(*) from pg_database where datname like 'tenure_bench_%'").fetchone() == (0,)
