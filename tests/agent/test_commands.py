"""``tenure agent`` at the prompt: what people read, and what scripts do."""

from __future__ import annotations

import contextlib
import io
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tenure.agent.looking import draining, look
from tenure.agent.requests import DRAIN, ask
from tenure.agent.settings import AgentSettings
from tenure.cli import main
from tests.agent.border import Border, problem, script
from tests.agent.conftest import RunAgent, settings_for
from tests.agent.making import Moody


def run(*words: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["agent", *words])
    return code, out.getvalue(), err.getvalue()


def test_status_shows_what_runs_what_is_owed_and_what_needs_somebody(
    border: Border, running: RunAgent, settings: AgentSettings, tmp_path: Path
) -> None:
    border.trouble = lambda path, body: (
        (404, problem("submission_not_found", "There is no such submission."))
        if path.endswith("/events") and json.loads(body)["state"] == "accepted" else None
    )  # fmt: skip
    moody = Moody(settings.folder / "local")
    execution = border.submit(script(tmp_path, "exit 1"))
    folder = str(settings.folder)
    with running(scheduler=moody):

        def all_is_parked() -> bool:
            shown = json.loads(run("status", "--state-folder", folder, "--json")[1])
            return bool(shown["executions"] == {"over": 1} and set(shown["events"]) == {"parked"})

        border.wait(all_is_parked, "all is parked")
        code, out, _ = run("status", "--state-folder", folder)
    assert code == 0
    assert "process" in out
    assert execution[:8] in out
    assert "submission_not_found" in out.replace("\n", "")
    assert "tenure agent resend" in out
    code, out, _ = run("status", "--state-folder", folder, "--json")
    shown = json.loads(out)
    assert (shown["process"], shown["executions"]) == (None, {"over": 1})
    assert shown["parked"][0]["event"]["execution_id"] == execution
    border.trouble = lambda *_: None
    assert run("resend", "--state-folder", folder)[0] == 0
    with running(scheduler=moody):
        border.wait_for_end(execution)


@pytest.mark.slow
def test_drain_waits_until_all_is_over_and_told(
    border: Border, running: RunAgent, settings: AgentSettings, tmp_path: Path
) -> None:
    execution = border.submit(script(tmp_path, "sleep 0.5"))
    with running():
        border.wait(lambda: bool(border.states(execution)), "it is accepted")
        code, out, _ = run("drain", "--wait", "--state-folder", str(settings.folder))
        assert (code, border.states(execution)[-1]) == (0, "completed")
        assert "takes nothing new" in out
        assert run("drain", "--off", "--state-folder", str(settings.folder))[0] == 0
        border.wait(lambda: not border.polls[-1].draining, "it takes work again")


def test_what_is_submitted_once_drain_has_waited_is_not_taken(
    border: Border, running: RunAgent, tmp_path: Path
) -> None:
    settings = settings_for(tmp_path, border.url, poll_seconds=20.0)
    folder = str(settings.folder)
    with running(settings):
        border.wait(lambda: any(poll.wait_seconds == 20 for poll in border.polls), "it waits for work")
        code, out, _ = run("drain", "--wait", "--state-folder", folder)
        assert (code, border.polls[-1].draining) == (0, True)
        assert "takes nothing new" in out
        execution = border.submit(script(tmp_path, "true"))
        polls = len(border.polls)
        border.wait(lambda: len(border.polls) > polls, "it asks on, and may wait for the answer")
        assert [poll.wait_seconds for poll in border.polls if poll.draining] == [0, 20]
        assert look(settings.folder).executions == {}
        assert run("drain", "--off", "--state-folder", folder)[0] == 0
        border.wait_for_end(execution)
        # What was told of an earlier time says nothing of this one.
        ask(settings.folder, DRAIN, "on")
        assert not draining(settings.folder).heard
        assert run("drain", "--wait", "--state-folder", folder)[0] == 0
        assert border.polls[-1].draining


def test_drain_waits_for_no_agent_where_none_runs_and_the_next_one_takes_nothing(
    border: Border, running: RunAgent, settings: AgentSettings, tmp_path: Path
) -> None:
    with running():
        border.wait(lambda: len(border.polls) > 0, "it polls")
    code, out, _ = run("drain", "--wait", "--state-folder", str(settings.folder))
    assert code == 0
    assert "when it is started" in out
    border.submit(script(tmp_path, "true"))
    polls = len(border.polls)
    with running():
        border.wait(lambda: len(border.polls) > polls + 1, "it polls")
    assert all(poll.draining and poll.accepting == 0 for poll in border.polls[polls:])


def test_drain_does_not_wait_for_an_end_that_somebody_has_called_off(
    border: Border, running: RunAgent, settings: AgentSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = tmp_path / "go"
    execution = border.submit(script(tmp_path, f"while [ ! -e {go} ]; do sleep 0.05; done"))

    monkeypatch.setattr("tenure.cli.commands.agent._DRAIN_LOOK", 0.05)
    with running(), ThreadPoolExecutor(1) as somebody:
        border.wait(lambda: bool(border.states(execution)), "it is accepted")
        waiting = somebody.submit(run, "drain", "--wait", "--state-folder", str(settings.folder))
        border.wait(lambda: draining(settings.folder).asked and draining(settings.folder).heard, "it drains")
        ask(settings.folder, DRAIN, "off")
        code, _, err = waiting.result(30)
        assert (code, "take work again" in err) == (1, True), err
        go.touch()
        border.wait_for_end(execution)


def test_what_needs_an_agents_folder_says_so_where_there_is_none(tmp_path: Path) -> None:
    for words in (["status"], ["drain"], ["resend"], ["conclude", "e-1", "--reason", "x"]):
        code, _, err = run(*words, "--state-folder", str(tmp_path))
        assert code == 1, err
        assert "no_agent_here" in err
        assert list(tmp_path.iterdir()) == []
        code, _, err = run(*words)
        assert code == 1
        assert "--node, --config or --state-folder" in err


def test_a_conclusion_needs_a_reason(tmp_path: Path) -> None:
    code, _, err = run("conclude", "e-1", "--reason", " ", "--state-folder", str(tmp_path))
    assert code == 1
    assert "The reason is empty" in err


@pytest.mark.parametrize("reason", ["x" * 2001, "a\0b", "\udc80"])
def test_a_reason_that_no_event_can_carry_is_refused_at_once(tmp_path: Path, reason: str) -> None:
    code, _, err = run("conclude", "e-1", "--reason", reason, "--state-folder", str(tmp_path))
    assert code == 1
    assert "invalid_request" in err
    assert "2,000 characters" in " ".join(err.split())


def test_only_what_the_agent_has_and_what_is_not_over_can_be_concluded(
    border: Border, running: RunAgent, settings: AgentSettings, tmp_path: Path
) -> None:
    execution = border.submit(script(tmp_path, "true"))
    with running():
        border.wait_for_end(execution)
    for asked, told in (("nobodys", "execution_not_here"), (execution, "execution_over")):
        code, out, err = run("conclude", asked, "--reason", "x", "--state-folder", str(settings.folder))
        assert (code, out) == (1, "")
        assert told in err


def test_what_has_ended_and_cannot_be_kept_is_concluded(border: Border, running: RunAgent, tmp_path: Path) -> None:
    (tmp_path / "full").write_text("a file where the payload store should be")
    settings = settings_for(tmp_path, border.url, results={"store": str(tmp_path / "full" / "store")})
    execution = border.submit(script(tmp_path, "true"))
    with running(settings):
        border.wait(lambda: bool(look(settings.folder).troubled), "somebody is called for")
        assert look(settings.folder).troubled[0]["stage"] == "collecting"
        words = ("conclude", execution, "--reason", "The store is gone.", "--retryable")
        assert run(*words, "--state-folder", str(settings.folder))[0] == 0
        border.wait_for_end(execution)
    failed = border.last(execution)
    assert failed.error is not None
    assert (failed.error.code, failed.error.message, failed.error.retryable) == (
        "concluded", "The store is gone.", True,
    )  # fmt: skip


def test_check_looks_at_one_thing_after_the_other_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENURE_TOKEN", "x")
    (tmp_path / "results").write_text("a file where a folder should be")
    config = tmp_path / "agent.toml"
    config.write_text(
        f'node = "n"\nkind = "local"\nurl = "http://127.0.0.1:1"\nstate_folder = "{tmp_path}/state"\n'
        f'[results]\nstore = "{tmp_path}/results/deep"\n[results.buckets]\ncloud = "nowhere://bucket"\n'
    )
    code, out, _ = run("check", "--config", str(config), "--json")
    found = json.loads(out)
    assert (code, found["fine"]) == (1, False)
    fine = {each["what"]: each["fine"] for each in found["findings"]}
    assert fine == {
        "state folder": True, "working folder": True, "payload store results": False, "payload store cloud": False,
        "scheduler": True, "server": False,
    }  # fmt: skip
    assert all(each["hint"] for each in found["findings"] if not each["fine"])


def test_an_adapter_whose_package_is_missing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setenv("TENURE_TOKEN", "x")
    monkeypatch.setitem(sys.modules, "tenure.agent.aiida", None)
    words = ["aiida", "--node", "n", "--url", "http://127.0.0.1:1", "--state-folder", str(tmp_path / "state")]
    code, _, err = run(*words)
    assert code == 1
    assert "pip install 'tenure[aiida]'" in err
