"""``tenure run``: workflows from a file, runs, and what people do with them."""

from __future__ import annotations

import json

import pytest

DEFINITION = """
name = "order"
queue = "shop"

[[steps]]
name = "reserve"
performer = "task"
on_ok = "check"

[[steps]]
name = "check"
performer = "approval"
on_ok = "ship"

[[steps]]
name = "ship"
performer = "wait"
signal = "shipped"
"""


@pytest.fixture
def defined(tenure, tmp_path):
    file = tmp_path / "order.toml"
    file.write_text(DEFINITION)
    answer = tenure("run", "define", str(file))
    assert (answer.code, answer.out.strip()) == (0, "order version 1")
    return file


@pytest.fixture
def started(tenure, defined):
    return tenure("run", "start", "order", "--input", '{"item": "ink"}', "--key", "o-1", "--json").json["run"]


def work(tenure, migrated_database):
    from tenure.sdk.client import Tenure

    with Tenure(migrated_database) as client:
        worker = client.register_worker("w")
        (lease,) = client.claim(worker, "shop", start=True)
        client.complete(lease)


def test_a_definition_that_cannot_be_is_refused_with_all_that_is_wrong(tenure, tmp_path):
    file = tmp_path / "bad.json"
    file.write_text(json.dumps({"name": "x", "steps": [{"name": "a", "performer": "task", "on_ok": "nowhere"}]}))
    answer = tenure("run", "define", str(file))
    assert answer.code == 1
    assert "invalid_definition" in answer.err
    assert "nowhere" in answer.err
    assert tenure("run", "define", str(tmp_path / "gone.toml")).code == 1


def test_the_same_key_starts_the_same_run(tenure, started):
    again = tenure("run", "start", "order", "--input", '{"item": "ink"}', "--key", "o-1", "--json").json
    assert (again["run"], again["replayed"]) == (started, True)
    other = tenure("run", "start", "order", "--input", '{"item": "pen"}', "--key", "o-1")
    assert other.code == 1
    assert "run_key_conflict" in other.err


def test_whom_a_step_does_not_name_is_told_who_may_decide(tenure, tmp_path):
    file = tmp_path / "signed.toml"
    file.write_text('name = "signed"\n[[steps]]\nname = "sign"\nperformer = "approval"\napprovers = ["user:zoe"]\n')
    tenure("run", "define", str(file))
    run = tenure("run", "start", "signed", "--json").json["run"]
    refused = tenure("run", "approve", run)
    assert refused.code == 1
    assert "forbidden" in refused.err and "Only user:zoe may decide at 'sign'" in refused.err
    assert tenure("--actor", "user:zoe", "run", "approve", run, "--json").json["status"] == "COMPLETED"


def test_a_run_from_its_start_to_its_end(tenure, started, migrated_database):
    assert tenure("run", "list", "--json").lines[0]["status"] == "RUNNING"
    assert "reserve" in tenure("run", "show", started).out
    work(tenure, migrated_database)
    assert "manual_boundary" in tenure("run", "explain", started).out
    assert tenure("run", "show", started, "--json").json["run"]["boundary"]["step"] == "check"
    approved = tenure("run", "approve", started, "--comment", "good", "--idempotency-key", "k", "--json").json
    assert approved["status"] == "RUNNING"
    assert tenure("run", "approve", started, "--comment", "good", "--idempotency-key", "k", "--json").json["replayed"]
    assert tenure("run", "reject", started).code == 1
    assert [reason["code"] for reason in tenure("run", "explain", started, "--json").lines] == ["waiting_for_signal"]
    ended = tenure("run", "signal", started, "shipped", "--payload", '{"by": "post"}', "--json").json
    assert ended["status"] == "COMPLETED"
    told = [line["sentence"] for line in tenure("run", "timeline", started, "--json").lines]
    assert told[0] == "Started order version 1 under the key o-1."
    assert told[-1] == "The run ended: COMPLETED."
    assert "COMPLETED" in tenure("run", "timeline", started).out
    assert tenure("run", "show", started, "--as-of", "2", "--json").json["seq"] == 2


def test_pause_resume_and_cancel(tenure, started):
    assert tenure("run", "pause", started, "--json").json["status"] == "PAUSED"
    assert tenure("run", "resume", started, "--json").json["status"] == "RUNNING"
    assert tenure("run", "cancel", started, "--reason", "no", "--json").json["status"] == "CANCELED"
    replayed = tenure("run", "replay", started, "--json").json
    assert (replayed["status"], replayed["run"] != started) == ("RUNNING", True)
    assert tenure("run", "retry", started).code == 1


def test_a_run_as_a_picture(tenure, started):
    assert tenure("run", "graph", started).out.startswith("flowchart TD")
    assert tenure("run", "graph", started, "--form", "svg").out.startswith("<svg")
    assert [node["id"] for node in tenure("run", "graph", started, "--json").json["nodes"]] == [
        "reserve",
        "check",
        "ship",
    ]
    assert tenure("run", "graph", started, "--form", "gif").code == 1


def test_migrating_and_retiring(tenure, started, defined):
    defined.write_text(DEFINITION.replace('queue = "shop"', 'queue = "shop"\nversion = 2\noutput = "$.outputs.ship?"'))
    assert tenure("run", "define", str(defined)).code == 0
    assert tenure("run", "migrate", started, "2").code == 1
    tenure("run", "pause", started)
    assert tenure("run", "migrate", started, "2", "--reason", "output", "--json").json["version"] == 2
    assert tenure("run", "retire", "order", "1").code == 0
    assert [(w["version"], w["retired_at"] is None) for w in tenure("run", "workflows", "--json").lines] == [
        (1, False), (2, True),
    ]  # fmt: skip


def test_recover_finds_nothing_to_repair(tenure, started):
    answer = tenure("recover", "--json").json
    assert (answer["runs"], answer["repaired"], answer["orphans"]) == (1, [], [])
    assert tenure("recover", started).out.startswith("1 runs looked at, 0 repaired.")


def test_a_run_that_is_not_there(tenure, defined):
    assert (
        "run_unknown" in tenure("run", "show", "FX-1T8Z").err or "invalid_euid" in tenure("run", "show", "FX-1T8Z").err
    )
    assert tenure("run", "start", "nothing").code == 1


def test_schedules(tenure, defined):
    made = tenure("schedule", "define", "nightly", "--workflow", "order", "--cron", "0 3 * * *", "--timezone", "Asia/Tokyo",
                  "--json").json  # fmt: skip
    assert made["next_at"].endswith("T18:00:00.000000+00:00")
    assert tenure("schedule", "pause", "nightly", "--json").json["next_at"] is None
    assert "paused" in tenure("schedule", "list").out
    assert tenure("schedule", "resume", "nightly", "--json").json["enabled"]
    assert tenure("schedule", "define", "bad", "--workflow", "order", "--cron", "61 * * * *").code == 1
    assert tenure("schedule", "define", "bad", "--workflow", "gone", "--cron", "1 * * * *").code == 1
    assert [line["name"] for line in tenure("schedule", "list", "--json").lines] == ["nightly"]


def test_runs_that_wait_for_somebody_are_listed(tenure, started, migrated_database):
    assert tenure("run", "list", "--waiting", "--json").lines == []
    work(tenure, migrated_database)
    assert [line["euid"] for line in tenure("run", "list", "--waiting", "--json").lines] == [started]
