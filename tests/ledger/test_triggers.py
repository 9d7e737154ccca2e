"""Event triggers start runs, once for each fact, and a chain of them ends (design 05, Trigger-out)."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.model.errors import InvalidRequest
from tests.ledger.post import Post


def define(post: Post, *triggers: dict[str, Any], name: str = "look-into", version: int = 1, **more: Any) -> None:
    steps = [{"name": "look", "performer": "log", "message": "looked"}]
    post.client.define_workflow(
        {"name": name, "version": version, "queue": "q", "steps": steps, "triggers": list(triggers), **more}
    )


ON_HOLD = {"name": "held", "kind": "event", "event": "hold.placed"}


def runs(post: Post) -> list[Any]:
    return post.client.runs()


def test_an_event_starts_a_run_whose_input_is_the_event(post: Post) -> None:
    define(post, ON_HOLD)
    subject = post.client.submit(queue_key="q").subject
    post.client.hold(subject, reason="look")
    post.drain()

    (run,) = runs(post)
    assert (run.name, run.status) == ("look-into", "COMPLETED")
    assert run.input["type"] == "tenure.hold.placed"
    assert run.input["data"]["queue_key"] == "q"
    assert run.run_key.startswith("event:held:SX-")


def test_a_mapping_chooses_what_of_the_event_is_the_input(post: Post) -> None:
    define(post, ON_HOLD | {"input": {"about": "$.event.subject", "code": "$.event.data.code"}})
    post.client.hold(post.client.submit(queue_key="q").subject, reason="look", hold_code="QC")
    post.drain()
    (run,) = runs(post)
    assert run.input["code"] == "QC"
    assert run.input["about"].startswith("SX-")


def test_conditions_choose_which_events_start_one(post: Post) -> None:
    when = [{"path": "$.event.data.code", "op": "eq", "value": "QC"}]
    define(post, ON_HOLD | {"when": when})
    for code in ("QC", "OTHER"):
        post.client.hold(post.client.submit(queue_key="q").subject, reason="look", hold_code=code)
    post.drain()
    assert len(runs(post)) == 1
    assert post.standing("workflow.look-into.held").delivered == 2


def test_what_is_sent_twice_starts_one_run(post: Post) -> None:
    define(post, ON_HOLD)
    post.client.hold(post.client.submit(queue_key="q").subject, reason="look")
    post.drain()
    uid = post.standing("workflow.look-into.held").subscription.uid
    ((position, thread),) = post.rows(
        "select position, thread from tenure.fact where type = 'hold.placed' and tenant = %s", post.client.caller.tenant
    )
    post.rows(
        "insert into tenure.parked_event (subscription, position, tenant, thread, alone, attempts, tries, next_attempt_at)"
        " values (%s, %s, %s, %s, true, 0, 0, '2026-01-01') returning 1", uid, position, post.client.caller.tenant, thread,
    )  # fmt: skip
    post.drain()
    assert post.standing("workflow.look-into.held").delivered == 2
    assert len(runs(post)) == 1


def test_an_input_that_cannot_be_worked_out_is_a_dead_letter_to_be_sent_again_once_the_trigger_is_mended(
    post: Post,
) -> None:
    define(post, ON_HOLD | {"input": {"x": "$.event.data.nothing"}})
    post.client.hold(post.client.submit(queue_key="q").subject, reason="look")
    post.drain()
    name = "workflow.look-into.held"
    (letter,) = post.client.event_dead_letters(name)
    assert letter.code == "invalid_payload"

    define(post, ON_HOLD | {"input": {"x": "$.event.data.queue_key"}}, version=2)
    post.client.redeliver_event(name, letter, reason="mended")
    post.drain()
    (run,) = runs(post)
    assert run.input == {"x": "q"}


def test_a_workflow_that_its_own_end_starts_ends_at_a_depth_with_the_chain_told(post: Post) -> None:
    define(post, {"name": "ended", "kind": "event", "event": "run.terminal"}, name="ouroboros")
    post.client.start_run("ouroboros")
    post.drain()

    assert len(runs(post)) == 10
    (letter,) = post.client.event_dead_letters("workflow.ouroboros.ended")
    assert letter.code == "trigger_cycle"
    ((message,),) = post.rows(
        "select message from tenure.refusal where code = 'trigger_cycle' and tenant = %s", post.client.caller.tenant
    )
    assert message.count("FX-") == 10


def test_a_trigger_that_a_new_version_has_no_more_starts_nothing(post: Post) -> None:
    define(post, ON_HOLD)
    define(post, version=2)
    post.client.hold(post.client.submit(queue_key="q").subject, reason="look")
    post.drain()
    assert runs(post) == []
    assert post.client.subscriptions() == []


def test_an_event_that_nobody_registered_is_refused_with_the_definition(post: Post) -> None:
    with pytest.raises(InvalidRequest, match="no fact type"):
        define(post, ON_HOLD | {"event": "specimen.received"})
    assert post.client.workflows_all() == []
