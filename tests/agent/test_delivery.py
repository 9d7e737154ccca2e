"""Events arrive whatever happens on the way: each once, an execution's in their order, and none is sent for ever in vain."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import shutil
import ssl
import subprocess
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tenure.agent.door import Answer, Door, Fate
from tenure.agent.errors import AnotherAgent, InvalidSettings, Superseded
from tenure.agent.looking import look
from tenure.agent.requests import RESEND, ask
from tenure.agent.settings import AgentSettings
from tenure.agent.telling import FIELDS
from tenure.sdk.http.address import Address
from tests.agent.border import TOKEN, Border, complete_and_in_order, problem, script
from tests.agent.conftest import RunAgent, settings_for
from tests.agent.cutting import Cuttable


def unavailable(*_: Any) -> tuple[int, Any, dict[str, str]]:
    return 503, problem("execution_unavailable", "Too much to do."), {"retry-after": "1"}


def test_lost_acknowledgements_cost_nothing_but_a_second_delivery(
    border: Border, running: RunAgent, tmp_path: Path
) -> None:
    sent: Counter[str] = Counter()

    def lose_the_first_answer(path: str, body: bytes) -> Any:
        if not path.endswith("/events"):
            return None
        event_id = json.loads(body)["event_id"]
        sent[event_id] += 1
        return "drop" if sent[event_id] == 1 else None

    border.trouble = lose_the_first_answer
    executions = [border.submit(script(tmp_path, "true")) for _ in range(3)]
    with running():
        border.wait_for_end(*executions)
        border.wait(lambda: len(sent) == 9 and set(sent.values()) == {2}, "each is acknowledged the second time")
    assert all(border.states(each) == ["accepted", "running", "completed"] for each in executions)
    assert border.refusals == []


@pytest.mark.slow
def test_a_server_that_answers_503_is_asked_again_and_gets_everything_in_order(
    border: Border, running: RunAgent, tmp_path: Path
) -> None:
    chance = random.Random(7)  # noqa: S311
    border.trouble = lambda path, _: (503, problem("x", "y")) if chance.random() < 0.5 else None
    executions = [border.submit(script(tmp_path, "true")) for _ in range(5)]
    with running():
        border.wait_for_end(*executions)
    assert all(border.states(each) == ["accepted", "running", "completed"] for each in executions)
    assert border.refusals == []


def test_retry_after_is_kept(border: Border, running: RunAgent, tmp_path: Path) -> None:
    refused = 0

    def busy(path: str, _: bytes) -> Any:
        nonlocal refused
        if path.endswith("/events") and refused < 1:
            refused += 1
            return 429, problem("rate_limited", "Slower."), {"retry-after": "1"}
        return None

    border.trouble = busy
    execution = border.submit(script(tmp_path, "true"))
    with running():
        border.wait(lambda: refused == 1, "it is refused once")
        requests = len([path for path in border.requests if path.endswith("/events")])
        assert not threading.Event().wait(0.6)
        assert len([path for path in border.requests if path.endswith("/events")]) == requests
        border.wait_for_end(execution)


@pytest.mark.parametrize("how", ["cut", "swallow"])
def test_a_network_that_is_lost_delays_events_and_nothing_else(
    border: Border, running: RunAgent, tmp_path: Path, how: str
) -> None:
    network = Cuttable(border.port)
    settings = settings_for(tmp_path, network.url, delivery={
        "first_delay_seconds": 0.05, "slowest_seconds": 0.5, "answer_seconds": 0.5,
    }, poll_seconds=0.3)  # fmt: skip
    go = tmp_path / "go"
    execution = border.submit(script(tmp_path, f"while [ ! -e {go} ]; do sleep 0.05; done; touch {tmp_path}/over"))
    with running(settings):
        border.wait(lambda: "running" in border.states(execution), "it runs")
        getattr(network, how)()
        go.touch()
        border.wait(
            lambda: (
                look(settings.folder).executions == {"over": 1} and "server_problem" in look(settings.folder).problems
            ),
            "its end is known to the node alone",
        )
        assert border.states(execution) == ["accepted", "running"]
        assert (tmp_path / "over").exists()
        network.mend()
        if how == "swallow":
            network.cut()  # what was swallowed will not come any more
            network.mend()
        border.wait_for_end(execution)
        border.wait(lambda: look(settings.folder).problems == {}, "the problem is over")
    assert border.states(execution) == ["accepted", "running", "completed"]
    network.close()


def test_what_the_server_refuses_for_good_is_parked_told_and_sent_again_when_somebody_says_so(
    border: Border, running: RunAgent, settings: AgentSettings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mended = False

    def refuse_running(path: str, body: bytes) -> Any:
        if not mended and path.endswith("/events") and json.loads(body)["state"] == "running":
            return 409, problem("invalid_transition", "It never was."), {}
        return None

    border.trouble = refuse_running
    execution = border.submit(script(tmp_path, "true"))
    with caplog.at_level(logging.INFO, logger="tenure.agent"), running():
        border.wait(lambda: look(settings.folder).events.get("parked", 0) == 2, "running and completed are parked")
    # "completed" was refused by the server itself, as "running" never arrived.
    assert border.states(execution) == ["accepted"]
    lines = [json.loads(r.getMessage()) for r in caplog.records if r.name == "tenure.agent.event"]
    parked = [line for line in lines if line["outcome"] == "parked"]
    assert [line["state"] for line in parked] == ["running", "completed"]
    assert all(line[name] for line in lines for name in FIELDS)
    assert "invalid_transition" in parked[0]["said"]
    found = look(settings.folder)
    assert [each.event["state"] for each in found.parked] == ["completed", "running"]
    sends = border.requests.count("/api/v1/remote/events")
    mended = True
    with running():
        border.wait(lambda: len(border.polls) > 2, "it polls")
        assert border.requests.count("/api/v1/remote/events") == sends, "parked is parked"
        ask(settings.folder, RESEND)
        border.wait_for_end(execution)
    assert border.states(execution) == ["accepted", "running", "completed"]


def test_a_token_that_was_revoked_and_replaced_is_read_again(border: Border, running: RunAgent, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("an-old-one")
    execution = border.submit(script(tmp_path, "true"))
    settings = settings_for(tmp_path, border.url)
    with running(settings, token=None, token_file=file):
        border.wait(lambda: "server_problem" in look(settings.folder).problems, "it is turned away")
        file.write_text(TOKEN)
        border.wait_for_end(execution)
    assert border.states(execution) == ["accepted", "running", "completed"]


def may_not() -> tuple[int, dict[str, Any]]:
    """What the server answers a credential that lacks the permission."""
    return 403, problem("forbidden", "This needs the permission to execute.") | {
        "status": 403, "evidence": {"permission": "execute"},
    }  # fmt: skip


def test_events_wait_while_who_sends_may_not_report_and_are_sent_once_that_is_mended(
    border: Border, running: RunAgent, settings: AgentSettings, tmp_path: Path
) -> None:
    refused = 0

    def barred(path: str, _: bytes) -> Any:
        nonlocal refused
        refused += "/events" in path
        return may_not()

    execution = border.submit(script(tmp_path, "true"))
    with running():
        border.wait(lambda: execution in border.held, "the node has it")
        border.trouble = barred
        border.wait(lambda: look(settings.folder).executions == {"over": 1} and refused > 2, "it is sent in vain")
        assert "parked" not in look(settings.folder).events
        border.trouble = lambda *_: None
        border.wait_for_end(execution)
    assert border.states(execution) == ["accepted", "running", "completed"]


def test_a_batch_of_somebody_who_may_not_report_says_so_of_each_event(border: Border, settings: AgentSettings) -> None:
    async def sent() -> list[Answer] | None:
        door = Door(Address(border.url, TOKEN), settings)
        try:
            return await door.send_many(["{}", "{}"])
        finally:
            await door.close()

    border.trouble = lambda *_: may_not()
    answers = asyncio.run(sent())
    assert answers is not None, "each alone would be told the same"
    assert [answer.fate for answer in answers] == [Fate.BARRED, Fate.BARRED]


def test_a_403_for_the_event_itself_is_final(
    border: Border, running: RunAgent, settings: AgentSettings, tmp_path: Path
) -> None:
    border.trouble = lambda path, _: (403, problem("forbidden", "Not yours.")) if path.endswith("/events") else None
    border.submit(script(tmp_path, "true"))
    with running():
        border.wait(lambda: look(settings.folder).events == {"parked": 3}, "each is parked")


def piled_up(border: Border, running: RunAgent, settings: AgentSettings, uri: str, many: int) -> list[str]:
    """Executions that have ended while no event got through: three of each wait."""
    border.trouble = lambda path, _: unavailable() if "/events" in path else None
    executions = [border.submit(uri) for _ in range(many)]
    with running():
        border.wait(lambda: look(settings.folder).events.get("waiting") == 3 * many, "all have ended and nobody knows")
    return executions


def test_events_that_piled_up_go_in_batches_one_of_each_execution_at_a_time(
    border: Border, running: RunAgent, settings: AgentSettings, tmp_path: Path
) -> None:
    executions = piled_up(border, running, settings, script(tmp_path, "true"), 30)
    batches: list[list[str]] = []

    def watch(path: str, body: bytes) -> Any:
        if path.endswith("/batch"):
            batches.append([event["execution_id"] for event in json.loads(body)["events"]])
            if len(batches) == 1:
                return "drop"
        return None

    border.trouble = watch
    border.requests.clear()
    with running():
        border.wait_for_end(*executions)
    assert all(border.states(each) == ["accepted", "running", "completed"] for each in executions)
    assert border.refusals == []
    assert all(len(set(batch)) == len(batch) for batch in batches)
    assert sum(map(len, batches)) > 60, "the first batch is sent twice, as its answer was lost"
    assert len(border.requests) < 60


def test_one_event_that_the_server_cannot_take_now_keeps_no_other_back(
    border: Border, running: RunAgent, tmp_path: Path
) -> None:
    first, second = (border.submit(script(tmp_path, "true")) for _ in range(2))
    border.trouble = lambda path, body: (
        (500, problem("internal_error", "A defect."))
        if path.endswith("/events") and json.loads(body)["execution_id"] == first
        else None
    )
    with running():
        border.wait_for_end(second)
        assert border.states(first) == []
        border.trouble = lambda *_: None
        border.wait_for_end(first)
    assert complete_and_in_order(border.states(first))


def test_an_answer_that_is_none_is_no_acknowledgement(border: Border, running: RunAgent, tmp_path: Path) -> None:
    left = 3

    def a_proxy_answers(path: str, _: bytes) -> Any:
        nonlocal left
        left -= 1
        return (302, "moved", {"location": "http://example.org/"}) if left > 0 else None

    border.trouble = a_proxy_answers
    execution = border.submit(script(tmp_path, "true"))
    with running():
        border.wait_for_end(execution)
    assert border.states(execution) == ["accepted", "running", "completed"]


def test_what_something_in_between_says_is_neither_an_acknowledgement_nor_a_refusal(
    border: Border, running: RunAgent, settings: AgentSettings, tmp_path: Path
) -> None:
    answers: list[tuple[int, Any]] = [
        (200, "<html>Please sign in</html>"), (200, {}), (204, None), (403, "<html>Forbidden</html>"),
        (404, "default backend - 404"), (413, "<html>Request Entity Too Large</html>"), (400, {"message": "no route"}),
    ]  # fmt: skip
    border.trouble = lambda path, _: answers.pop() if answers and path.endswith("/events") else None
    execution = border.submit(script(tmp_path, "true"))
    with running():
        border.wait(lambda: look(settings.folder).events == {"delivered": 3}, "all is acknowledged")
    assert answers == []
    assert border.states(execution) == ["accepted", "running", "completed"]


def test_a_batch_that_is_not_taken_as_a_whole_goes_one_by_one(
    border: Border, running: RunAgent, settings: AgentSettings, tmp_path: Path
) -> None:
    executions = piled_up(border, running, settings, script(tmp_path, "true"), 20)
    border.trouble = lambda path, _: (413, "too large") if path.endswith("/batch") else None
    border.requests.clear()
    with running():
        border.wait(lambda: look(settings.folder).events == {"delivered": 60}, "all is acknowledged")
    assert any(path.endswith("/batch") for path in border.requests)
    assert all(border.states(each) == ["accepted", "running", "completed"] for each in executions)


def test_of_two_agents_of_a_node_the_second_one_stops(border: Border, running: RunAgent, tmp_path: Path) -> None:
    with running(settings_for(tmp_path / "first", border.url)):
        border.wait(lambda: len(border.agents) == 1, "the first polls")
        with running(settings_for(tmp_path / "second", border.url)) as second:
            border.wait(lambda: not second.ended.is_alive(), "the second stops")  # type: ignore[attr-defined]
        execution = border.submit(script(tmp_path, "true"))
        border.wait_for_end(execution)
    (trouble,) = second.trouble_seen  # type: ignore[attr-defined]
    assert isinstance(trouble, AnotherAgent)


def test_an_agent_in_whose_place_another_has_come_stops(border: Border, running: RunAgent, tmp_path: Path) -> None:
    older = settings_for(tmp_path / "older", border.url)
    newer = settings_for(tmp_path / "newer", border.url)
    with running(older) as first:
        border.wait(lambda: len(border.agents) == 1, "the first polls")
        border.lapsed = True
        with running(newer):
            border.wait(lambda: not first.ended.is_alive(), "the first stops")  # type: ignore[attr-defined]
            execution = border.submit(script(tmp_path, "true"))
            border.wait_for_end(execution)
    (trouble,) = first.trouble_seen  # type: ignore[attr-defined]
    assert isinstance(trouble, Superseded)
    assert "one agent" in trouble.hint


def test_a_servers_certificate_is_always_verified_and_ones_own_authority_can_be_trusted(
    running: RunAgent, tmp_path: Path
) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=tenure", "-addext",
         "subjectAltName=IP:127.0.0.1", "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    border = Border(tls=context)
    execution = border.submit(script(tmp_path, "true"))
    settings = settings_for(tmp_path, border.url)
    with running(settings):
        border.wait(lambda: "server_problem" in look(settings.folder).problems, "it does not trust the server")
        assert "CERTIFICATE_VERIFY_FAILED" in look(settings.folder).problems["server_problem"]
        assert border.requests == []
    with running(settings_for(tmp_path, border.url, ca_file=tmp_path / "cert.pem")):
        border.wait_for_end(execution)
    border.close()


def test_a_file_of_authorities_that_holds_none_is_told(border: Border, running: RunAgent, tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text("no certificate")
    with running(settings_for(tmp_path, border.url, ca_file=tmp_path / "cert.pem")) as agent:
        border.wait(lambda: not agent.ended.is_alive(), "it stops")  # type: ignore[attr-defined]
    (trouble,) = agent.trouble_seen  # type: ignore[attr-defined]
    assert isinstance(trouble, InvalidSettings)
