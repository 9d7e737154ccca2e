"""A user's mistake gives a code, a message and an exit status; never a stack trace."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

NOBODY = "postgresql://u@127.0.0.1:1/x"
MISTAKES = [
    ("unknown queue", ["queue", "show", "nope"], 1, "queue_unknown"),
    ("unknown queue to submit to", ["subject", "submit", "--queue", "nope"], 1, "queue_unknown"),
    ("unknown queue to update", ["queue", "update", "nope", "--lease-ttl", "5"], 1, "queue_unknown"),
    ("unknown queue to list leases of", ["lease", "list", "--queue", "nope"], 1, "queue_unknown"),
    ("wrong check character", ["subject", "show", "SX-1T87"], 1, "invalid_euid"),
    ("no EUID at all", ["subject", "why", "hello"], 1, "invalid_euid"),
    ("unknown subject", ["subject", "show", "SX-1T8Z"], 1, "not_found"),
    ("unknown reference", ["subject", "history", "--ref", "nobody"], 1, "not_found"),
    ("neither EUID nor reference", ["subject", "show"], 1, "invalid_request"),
    ("naive datetime", ["subject", "submit", "--queue", "thumbs", "--ready-at", "2030-01-01T09:00"], 1, "naive_datetime"),
    ("no datetime", ["subject", "submit", "--queue", "thumbs", "--due-at", "soon"], 1, "invalid_request"),
    ("priority too low", ["subject", "submit", "--queue", "thumbs", "--priority", "-40000"], 1, "invalid_request"),
    ("priority that is no number", ["subject", "submit", "--priority", "high"], 2, "--priority"),
    ("bad JSON", ["subject", "submit", "--queue", "thumbs", "--properties", "{a: 1}"], 1, "invalid_payload"),
    ("JSON that is no object", ["subject", "submit", "--queue", "thumbs", "--properties", "[1]"], 1, "invalid_payload"),
    ("NaN", ["subject", "submit", "--queue", "thumbs", "--properties", '{"a": NaN}'], 1, "invalid_payload"),
    ("deep JSON", ["subject", "submit", "--queue", "thumbs", "--properties", '{"a":' * 5000], 1, "invalid_payload"),
    ("file that is not there", ["subject", "submit", "--properties", "@/nowhere.json"], 1, "invalid_request"),
    ("unknown template", ["subject", "submit", "--queue", "thumbs", "--template", "no/such/1.0"], 1, "not_found"),
    ("a policy that cannot be", ["queue", "define", "x", "--lease-ttl", "0"], 1, "invalid_request"),
    ("a queue key that cannot be", ["queue", "define", "a b"], 1, "invalid_request"),
    ("a policy field that is unknown", ["queue", "define", "x", "--policy", '{"colour": "red"}'], 1, "invalid_request"),
    ("nothing to update", ["queue", "update", "thumbs"], 1, "invalid_request"),
    ("unknown lease", ["lease", "show", "LX-1T8Z"], 1, "not_found"),
    ("unknown lease to expire", ["lease", "expire", "LX-1T8Z"], 1, "not_found"),
    ("unknown worker", ["workers", "drain", "WX-1T8Z"], 1, "not_found"),
    ("unknown key of a worker", ["workers", "drain", "worker://vm/nope"], 1, "not_found"),
    ("unknown dead letter", ["deadletter", "requeue", "DX-1T8Z", "--reason", "x"], 1, "not_found"),
    ("no reason", ["subject", "hold", "SX-1T8Z"], 2, "--reason"),
    ("empty reason", ["subject", "hold", "--ref", "R-1", "--reason", "  "], 1, "invalid_request"),
    ("a share above one", ["verify", "--sample", "2"], 1, "invalid_request"),
    ("unknown tenant", ["--tenant", "nobody", "queue", "list"], 1, "not_found"),
    ("unknown command", ["fly"], 2, "fly"),
    ("unknown option", ["queue", "list", "--colour"], 2, "--colour"),
    ("module that is not there", ["worker", "no_such_module:app"], 1, "invalid_request"),
    ("application without a module", ["worker", "app"], 1, "invalid_request"),
    ("application that is none", ["worker", "json:dumps"], 1, "invalid_request"),
    ("nobody listens", ["queue", "list", "--dsn", NOBODY], 3, "store_unavailable"),
    ("nobody listens for up", ["up", "--dsn", NOBODY], 3, "store_unavailable"),
    ("nobody listens for a worker", ["worker", "tenure.demo.app:app", "--dsn", NOBODY], 3, "store_unavailable"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "code", "said"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES])
def test_a_mistake_is_answered_with_a_code_and_no_stack_trace(tenure, submitted, arguments, code, said):
    answer = tenure(*arguments)
    assert answer.code == code
    assert said in answer.err
    assert "Traceback" not in answer.out + answer.err


def test_a_mistake_is_told_as_json_when_json_was_asked_for(tenure, submitted):
    answer = tenure("subject", "show", "SX-1T87", "--json")
    assert answer.out == ""
    error = json.loads(answer.err)["error"]
    assert (answer.code, error["code"]) == (1, "invalid_euid")
    assert error["hint"]


def test_an_unknown_tenant_is_not_made_by_looking_at_it(tenure, submitted):
    tenure("--tenant", "nobody", "queue", "list")
    assert tenure("--tenant", "nobody", "top", "--once").code == 1


def test_interruption_ends_with_130(typed, monkeypatch):
    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("tenure.cli.commands.migrate.render_sql", interrupted)
    answer = typed("migrate", "--sql")
    assert answer.code == 130
    assert "Traceback" not in answer.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("arguments", [["--help"], ["migrate", "--sql"]])
def test_output_that_finds_no_space_is_told_of(arguments):
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "tenure.cli", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 1
    assert "no_space" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_global_options_may_stand_anywhere(tenure, submitted):
    before = tenure("--json", "subject", "why", submitted).json
    after = tenure("subject", "why", submitted, "--json").json
    assert [r["code"] for r in before] == [r["code"] for r in after]


def test_help_of_every_command_is_there(typed):
    top = typed("--help")
    assert top.code == 0
    for command in ("up", "down", "status", "migrate", "worker", "verify", "top", "bench", "demo"):
        assert typed(command, "--help").code == 0
        assert command in top.out


@pytest.mark.parametrize("mistake", [["queue", "list", "--colour"], ["fly"], ["subject", "hold", "SX-1T8Z"]])
def test_in_json_mode_a_line_that_cannot_be_understood_is_answered_in_json_too(typed, mistake):
    answer = typed("--json", *mistake)
    assert (answer.code, answer.out) == (2, "")
    assert json.loads(answer.err)["error"]["code"] == "usage"


def test_hints_name_commands(tenure):
    tenure("queue", "define", "resting")
    tenure("queue", "disable", "resting", "--reason", "cleaning")
    tenure("workers", "list")
    assert "tenure queue update" in tenure("queue", "define", "resting", "--lease-ttl", "5").err
    subject = tenure("--json", "subject", "submit", "--queue", "resting").json["subject"]
    for code in ("A", "B"):
        tenure("subject", "hold", subject, "--reason", "x", "--code", code)
    refused = tenure("subject", "release", subject, "--reason", "y").err
    assert refused.count("HX-") == 2
    assert "--hold" in refused
    tenure("subject", "cancel", subject, "--reason", "z")
    assert "--reopen" in tenure("subject", "requeue", subject, "--reason", "again").err
    assert "--reopen" in tenure("subject", "why", subject).out


@pytest.mark.parametrize("columns", ["40", "60", "80"])
def test_a_narrow_terminal_costs_no_word_of_a_table(tenure, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    tenure("queue", "define", "q-of-a-name")
    subject = tenure("--json", "subject", "submit", "--queue", "q-of-a-name").json["subject"]
    assert "q-of-a-name" in tenure("queue", "list").out
    assert subject in tenure("queue", "items", "q-of-a-name").out


def test_where_no_terminal_reads_nothing_is_folded(tenure, monkeypatch):
    monkeypatch.delenv("COLUMNS")
    key = "a-queue-of-a-very-long-name-such-as-programs-like-to-make-them-up-01"
    tenure("queue", "define", key)
    assert key in tenure("queue", "list").out


def test_a_file_where_a_data_folder_should_be_is_told_as_such(typed, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TENURE_HOME", str(tmp_path / "file"))
    for command in (["up"], ["down"], ["status"], ["queue", "list"]):
        answer = typed(*command)
        assert "embedded_not_a_data_folder" in answer.err, command
        assert answer.code == 3
