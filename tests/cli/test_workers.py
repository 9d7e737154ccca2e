"""``tenure worker`` with a small application, and what operators see and do of workers, leases and dead letters."""

import textwrap

import psycopg
import pytest

from tenure import Tenure


@pytest.fixture
def application(tmp_path, monkeypatch, tenure):
    """The name of a module with two tasks, one of which fails for good."""
    name = f"jobs_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(
        textwrap.dedent(
            """
            from tenure import Fail, Tenure

            app = Tenure()

            @app.task(queue="sums", key="add")
            def add(a: int, b: int) -> int:
                return a + b

            @app.task(queue="sums", key="give_up")
            def give_up() -> None:
                raise Fail("the file is damaged", code="damaged")
            """
        )
    )
    monkeypatch.chdir(tmp_path)
    return f"{name}:app"


def _submit(tenure, action, properties="{}"):
    arguments = ("subject", "submit", "--queue", "sums", "--action", action, "--properties", properties, "--json")
    return tenure(*arguments).json["subject"]


def test_a_worker_runs_the_tasks_of_an_application_until_nothing_is_left(tenure, application):
    tenure("queue", "define", "sums")
    subject = _submit(tenure, "add", '{"a": 2, "b": 3}')
    ran = tenure("worker", application, "--drain")
    assert ran.code == 0
    assert "connected directly" in ran.err
    assert "completed 1" in ran.out
    assert tenure("subject", "history", subject, "--json").json["attempts"][0]["result"] == 5


def test_a_worker_logs_json_lines_with_the_action_in_each(tenure, application):
    tenure("queue", "define", "sums")
    subject = _submit(tenure, "add", '{"a": 2, "b": 3}')
    lines = tenure("worker", application, "--drain", "--json").lines
    assert any(line.get("action_key") == "claim_queue_item" and line.get("subject") == subject for line in lines)
    assert (lines[-1]["event"], lines[-1]["completed"]) == ("stopped", 1)


def test_a_dead_letter_is_listed_requeued_and_ignored(tenure, application):
    tenure("queue", "define", "sums")
    subject = _submit(tenure, "give_up")
    tenure("worker", application, "--drain")
    [letter] = tenure("deadletter", "list", "--json").lines
    assert letter["letter"]["subject"] == subject
    assert "the file is damaged" in tenure("subject", "history", subject).out
    assert (
        tenure("deadletter", "requeue", letter["letter"]["euid"], "--reason", "repaired", "--json").json["state"]
        == "READY"
    )
    tenure("worker", application, "--drain")
    assert tenure("deadletter", "ignore", subject, "--reason", "not worth it").code == 0
    assert "There are no dead letters" in tenure("deadletter", "list").out
    resolutions = [line["letter"]["resolution_state"] for line in tenure("deadletter", "list", "--all", "--json").lines]
    assert sorted(resolutions) == ["IGNORED", "REQUEUED"]


def test_a_live_lease_is_shown_and_ends_only_by_force(tenure, submitted, migrated_database):
    with Tenure(migrated_database) as client:
        client.claim(client.register_worker("w/1"), "thumbs")
    [lease] = tenure("lease", "list", "--json").lines
    name = lease["attempt"]["euid"]
    assert name in tenure("lease", "list").out
    assert tenure("lease", "show", name, "--json").json["attempt"]["lease_status"] == "ACTIVE"
    assert tenure("lease", "expire", name).code == 1
    assert tenure("lease", "expire", name, "--force", "--reason", "it hangs").code == 0
    assert tenure("lease", "list", "--json").lines == []
    assert [line["attempt"]["euid"] for line in tenure("lease", "list", "--status", "expired", "--json").lines] == [
        name
    ]


@pytest.mark.parametrize(("command", "status"), [("drain", "DRAINING"), ("disable", "DISABLED"), ("retire", "RETIRED")])
def test_an_operator_changes_the_status_of_a_worker(tenure, submitted, migrated_database, command, status):
    with Tenure(migrated_database) as client:
        client.register_worker("w/1")
    assert tenure("workers", command, "w/1", "--reason", "maintenance", "--json").json["status"] == status


def test_a_disabled_worker_is_enabled_by_its_euid(tenure, submitted, migrated_database):
    with Tenure(migrated_database) as client:
        client.register_worker("w/1")
    name = tenure("workers", "disable", "w/1", "--reason", "maintenance", "--json").json["euid"]
    assert tenure("workers", "enable", name, "--json").json["status"] == "ONLINE"
    assert "w/1" in tenure("workers", "list").out


def test_top_draws_one_frame_with_queues_and_workers(tenure, submitted, migrated_database):
    with Tenure(migrated_database) as client:
        client.register_worker("w/1")
    frame = tenure("top", "--once")
    assert frame.code == 0
    assert "1 waiting" in frame.out
    assert "thumbs" in frame.out
    assert "w/1" in frame.out
    assert max(len(line) for line in frame.out.splitlines()) <= 80
    assert tenure("top", "--once", "--json").json["queues"][0]["queue_depth"] == 1


def test_an_application_that_fails_when_imported_says_where(tenure, tmp_path, monkeypatch):
    (tmp_path / "broken_app.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    ran = tenure("worker", "broken_app:app")
    assert (ran.code, "ZeroDivisionError" in ran.err, "line 1" in ran.err) == (1, True, True)
    assert "Traceback" not in ran.err


@pytest.fixture
def changed_workflow(tenure, application, tmp_path, migrated_database):
    """The name of an application whose workflow is another than the one that is there in its version."""
    with Tenure(migrated_database) as client:
        client.workflow("total", queue="sums").task("add")
        client.define_workflows()
    name = application.removesuffix(":app")
    with (tmp_path / f"{name}.py").open("a") as module:
        module.write('\napp.workflow("total", queue="sums").task("give_up")\n')
    return application


def test_a_worker_that_cannot_begin_is_not_said_to_work(tenure, changed_workflow):
    ran = tenure("worker", changed_workflow, "--drain")

    assert (ran.code, "already_exists" in ran.err) == (1, True)
    assert tenure("workers", "list", "--json").lines == []


def test_a_worker_that_cannot_begin_takes_no_key_from_one_that_works(tenure, changed_workflow, migrated_database):
    with Tenure(migrated_database) as client:
        at_work = client.register_worker("lab/1")

        assert tenure("worker", changed_workflow, "--worker-key", "lab/1", "--drain").code == 1

        assert client.claim(at_work, "sums") == []
        assert [worker.incarnation for worker in client.workers()] == [at_work.incarnation]


def test_verify_is_clean_after_work_and_finds_what_was_changed_behind_its_back(tenure, application, migrated_database):
    tenure("queue", "define", "sums")
    subject = _submit(tenure, "add", '{"a": 2, "b": 3}')
    tenure("worker", application, "--drain")
    assert tenure("verify").code == 0
    assert tenure("verify", "--json").json["clean"] is True
    assert tenure("verify", "--subject", subject).code == 0
    with psycopg.connect(migrated_database) as connection:
        connection.execute("set session_replication_role = replica")
        connection.execute("update tenure.execution set priority = 7")
    found = tenure("verify")
    assert found.code == 4
    assert "envelope_differs" in found.out
    assert tenure("verify", "--json").json["found"] == {"envelope_differs": 1}
