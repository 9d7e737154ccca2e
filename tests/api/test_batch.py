"""Many actions of the holder of leases in one request, and claims from several queues at once."""

from __future__ import annotations

import threading
import time

import psycopg
import pytest

from tenure.model import euid
from tests.waiting import until


@pytest.fixture
def worker(site):
    return site.worker.register()


def taken(site, worker, count, **fields):
    for _ in range(count):
        site.admin.submit(**fields)
    return site.worker.claim(worker, limit=count, start=True)


def one(action, lease, **fields):
    return {"action": action, "lease_euid": lease["lease"], "lease_token": lease["lease_token"], **fields}


def batch(site, worker, *actions, **besides):
    body = {"worker_euid": worker["euid"], "incarnation": worker["incarnation"], "actions": list(actions)} | besides
    return site.worker.act("batch", **body)["outcomes"]


def state(site, lease):
    return site.admin.get(f"/subjects/{lease['subject']}")["execution"]["state"]


def test_each_action_is_answered_in_order_and_what_is_refused_leaves_the_others_alone(site, worker):
    a, b, c, d, e, f = taken(site, worker, 6)
    stranger = {**f, "lease_token": "x" * 40}

    outcomes = batch(
        site, worker, one("fail", a, error_class="PERMANENT_INPUT", error_code="odd"), one("complete", b, result=[1]),
        one("complete", stranger), one("release", c), one("defer", d, until="2999-01-01T00:00:00Z"), one("renew", f),
        one("complete", e, next_queue_key="nowhere"),
    )  # fmt: skip

    assert [o["result"]["action"] if "result" in o else o["problem"]["code"] for o in outcomes] == [
        "fail_queue_execution", "complete_queue_execution", "forbidden", "release_queue_lease",
        "fail_queue_execution", "renew_queue_lease", "queue_unknown",
    ]  # fmt: skip
    assert [state(site, x) for x in (a, b, c, d, e, f)] == [
        "FAILED_TERMINAL", "COMPLETED", "READY", "READY", "RUNNING", "RUNNING"
    ]  # fmt: skip
    assert site.trusted.verify().clean


def test_a_batch_that_is_sent_again_is_answered_as_the_first_time(site, worker):
    leases = taken(site, worker, 3)
    actions = [one("complete", leases[0], result="x"), one("fail", leases[1]), one("release", leases[2])]

    first = batch(site, worker, *actions)
    again = batch(site, worker, *actions)

    assert [o["result"].pop("replayed") for o in first] == [False] * 3
    assert [o["result"].pop("replayed") for o in again] == [True] * 3
    assert again == first


def test_plain_completions_and_renewals_are_a_statement_each(site, worker, monkeypatch):
    leases = taken(site, worker, 20)
    statements = []
    execute = psycopg.AsyncCursor.execute

    async def noting(self, query, *args, **kwargs):
        statements.append(str(query))
        return await execute(self, query, *args, **kwargs)

    monkeypatch.setattr(psycopg.AsyncCursor, "execute", noting)
    batch(site, worker, *(one("renew", x) for x in leases[:10]), *(one("complete", x) for x in leases[10:]))
    monkeypatch.undo()

    written = [s for s in statements if "insert into tenure.fact" in s]
    assert [("lease.renewed" in s, "execution.completed" in s) for s in written] == [(True, False), (False, True)]
    assert {state(site, x) for x in leases[10:]} == {"COMPLETED"}


def test_a_renewal_by_a_superseded_registration_is_refused(site, worker):
    [lease] = taken(site, worker, 1)
    site.worker.register()

    [outcome] = batch(site, worker, one("renew", lease))

    assert outcome["problem"]["code"] in {"stale_lease", "worker_superseded"}


@pytest.mark.parametrize("action", ["complete", "renew", "release", "fail", "start"])
def test_nobody_acts_as_the_worker_of_somebody_else(site, worker, action):
    [lease] = taken(site, worker, 1)
    other = site.as_("worker_service", name="service:other")

    body = {"worker_euid": worker["euid"], "actions": [one(action, lease)]}

    assert other.refused("batch", **body) == "forbidden"
    assert site.as_("observer").refused("batch", **body) == "forbidden"
    assert state(site, lease) == "RUNNING"


@pytest.mark.parametrize(
    ("actions", "code"),
    [
        ([], "invalid_request"),
        ([{"action": "explode"}], "invalid_request"),
        ([{"action": "complete"}], "invalid_request"),
        ([{"action": "complete", "lease_euid": "LX-!", "lease_token": "x" * 20}], "invalid_euid"),
    ],
)
def test_a_malformed_batch_is_refused_as_a_whole(site, worker, actions, code):
    assert site.worker.refused("batch", worker_euid=worker["euid"], actions=actions) == code


def test_an_action_that_names_another_worker_than_its_batch_is_refused(site, worker):
    [lease] = taken(site, worker, 1)
    other = site.worker.register("other")

    [outcome] = batch(site, worker, one("complete", lease, worker_euid=other["euid"]))

    assert outcome["problem"]["code"] == "invalid_request"


# Claims --------------------------------------------------------------------------------------------------------------
@pytest.fixture
def queues(site):
    site.trusted.define_queue("urgent", dispatch_priority=900)
    site.trusted.define_queue("manual", dispatch_priority=1000, manual_only=True)


def from_several(site, worker, *more, **fields):
    body = {
        "worker_euid": worker["euid"],
        "queue_key": "q",
        "also_from": [{"queue_key": key} for key in more],
        **fields,
    }
    return site.worker.act("claim", **body)


def test_a_claim_from_several_queues_takes_from_the_most_urgent_that_has_work(site, worker, queues):
    site.admin.submit("q")
    site.admin.submit("urgent")
    site.admin.submit("manual")

    keys = [
        lease["queue_key"]
        for _ in range(3)
        for lease in from_several(site, worker, "urgent", "manual", "unknown")["leases"]
    ]

    assert keys == ["urgent", "q"]


def test_a_claim_from_queues_that_are_all_closed_tells_why(site, worker, queues):
    site.trusted.update_queue_policy("q", enabled=False)
    body = {"worker_euid": worker["euid"], "queue_key": "q", "also_from": [{"queue_key": "manual"}]}

    assert site.worker.refused("claim", **body) in {"queue_disabled", "queue_manual_only"}


def test_a_claim_that_names_a_queue_twice_is_refused(site, worker):
    body = {"worker_euid": worker["euid"], "queue_key": "q", "also_from": [{"queue_key": "q"}]}

    assert site.worker.refused("claim", **body) == "invalid_request"


def test_a_claim_waits_for_any_of_its_queues_and_tells_how_long_it_waited(site, worker, queues):
    found = []
    asking = threading.Thread(target=lambda: found.append(from_several(site, worker, "urgent", wait_seconds=20)))
    began = time.monotonic()
    asking.start()
    waiting = site.server.application.state.waiting
    until(lambda: len(waiting.lines) == 2)
    submitted = time.monotonic() - began
    site.admin.submit("urgent")
    asking.join(15)

    assert [lease["queue_key"] for lease in found[0]["leases"]] == ["urgent"]
    assert submitted - 0.5 < found[0]["taken_after_seconds"] < time.monotonic() - began
    assert len(waiting.lines) == 0


def test_a_repeated_claim_tells_how_long_ago_its_leases_were_taken(site, worker, clock):
    site.admin.submit()
    body = {"worker_euid": worker["euid"], "queue_key": "q"}
    first = site.worker.act("claim", key="k", **body)
    clock.advance(seconds=5)
    again = site.worker.act("claim", key="k", **body)

    assert again["leases"] == first["leases"]
    assert first["taken_after_seconds"] >= 0
    assert again["taken_after_seconds"] == pytest.approx(-5, abs=0.5)


def test_a_worker_retires_itself_and_nobody_else_but_an_admin_does(site, worker):
    other = site.as_("worker_service", name="service:other")

    assert other.refused("retire-worker", worker_euid=worker["euid"]) == "forbidden"
    assert site.worker.act("retire-worker", worker_euid=worker["euid"])["status"] == "RETIRED"
    assert euid.parse_euid(worker["euid"]) not in {w.uid for w in site.trusted.workers()}
    assert site.admin.act("retire-worker", worker_euid=other.register("w2")["euid"])["status"] == "RETIRED"


def test_a_claim_whose_token_is_revoked_while_it_waits_takes_nothing(site):
    client = site.as_("worker_service", name="service:leaving")
    worker = client.register("leaving")
    answers = []
    body = {"worker_euid": worker["euid"], "queue_key": "q", "wait_seconds": 20}
    asking = threading.Thread(target=lambda: answers.append(client.ask("claim", **body)))
    asking.start()
    until(lambda: len(site.server.application.state.waiting.lines) == 1)
    [token] = site.trusted.tokens(principal="service:leaving")
    site.trusted.revoke_token(token)
    subject = site.admin.submit()
    asking.join(15)

    assert answers[0].status_code == 401
    assert site.admin.get(f"/subjects/{subject}")["execution"]["state"] == "READY"


def test_a_heartbeat_sweeps_what_others_let_lapse(site, worker, clock):
    site.admin.submit()
    [lease] = site.worker.claim(worker, start=True, ttl_seconds=30)
    other = site.worker.register("other")
    clock.advance(seconds=31)

    site.worker.act("heartbeat-worker", worker_euid=other["euid"], incarnation=other["incarnation"])

    [fact] = [f for f in site.trusted.facts(lease["subject"]) if f.type == "lease.expired"]
    assert (fact.actor, state(site, lease)) == ("system:server", "FAILED_RETRYABLE")
