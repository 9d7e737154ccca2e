"""The action routes of S1 section 10.3, their guards, and that a retry changes nothing (S1 sections 7.3, 7.5 and 11.2)."""

from __future__ import annotations

import pytest

from tenure.api.schemas.registry import QueueChanges
from tenure.model.queue import MUTABLE
from tests.api.conftest import Site

OWN = "my own secret of length"


def test_a_worker_takes_a_subject_through_its_life(site: Site) -> None:
    subject = site.admin.submit(properties={"path": "a.png"}, name="a")
    worker = site.worker.register()

    [lease] = site.worker.claim(worker)
    started = site.worker.act("start", **site.worker.holder(lease))
    renewed = site.worker.act("renew-lease", **site.worker.holder(lease), ttl_seconds=1800)
    done = site.worker.act("complete", **site.worker.holder(lease), result={"thumb": "b.png"})

    assert (lease["subject"], lease["properties"]) == (subject, {"path": "a.png"})
    assert (started["state"], renewed["state"], done["state"]) == ("RUNNING", "RUNNING", "COMPLETED")
    assert done["lease"] == lease["lease"]


def test_a_completion_sends_a_subject_on_and_names_what_it_brought_forth(site: Site) -> None:
    site.trusted.define_queue("next")
    site.admin.submit()
    output = site.admin.submit(None)
    [lease] = site.worker.claim(site.worker.register(), start=True)

    done = site.worker.act(
        "complete", **site.worker.holder(lease), next_queue_key="next", output_euids=[output], expected_state="RUNNING"
    )

    assert (done["state"], done["queue_key"], done["outputs"]) == ("READY", "next", [output])


def test_a_subject_remembers_its_parents(site: Site) -> None:
    parent = site.admin.submit()

    child = site.admin.submit(parent_euids=[parent])

    edges = site.admin.get(f"/subjects/{child}/lineage")["edges"]
    assert (parent, child) in [(edge["parent"], edge["child"]) for edge in edges]


@pytest.mark.parametrize(
    "action, fields, state",
    [
        ("release-lease", {"reason": "needed elsewhere"}, "READY"),
        ("fail", {"retryable": True}, "FAILED_RETRYABLE"),
        ("fail", {"retryable": False}, "FAILED_TERMINAL"),
        ("fail", {"error_class": "BUSINESS_RULE_HOLD", "error_message": "no consent"}, "HELD"),
        ("fail", {"error_class": "TRANSIENT_CAPACITY", "retry_after_seconds": 1.5}, "FAILED_RETRYABLE"),
        ("defer", {"until": "2100-01-01T00:00:00+02:00"}, "READY"),
        ("dispatch-external", {"external_ref": "slurm:1", "deadline": "2100-01-01T00:00:00Z"}, "WAITING_EXTERNAL"),
    ],
)
def test_a_holder_reports_in_every_way(site: Site, action: str, fields: dict, state: str) -> None:  # type: ignore[type-arg]
    site.admin.submit()
    [lease] = site.worker.claim(site.worker.register(), start=True)

    assert site.worker.act(action, **site.worker.holder(lease), **fields)["state"] == state


def test_an_operator_holds_releases_requeues_and_cancels(site: Site) -> None:
    operator = site.as_("operator")
    subject = operator.submit()

    held = operator.act("hold", subject_euid=subject, reason="broken seal", hold_code="INTEGRITY")
    released = operator.act("release-hold", subject_euid=subject, hold_euid=held["hold"])
    requeued = operator.act("requeue", subject_euid=subject, priority=7, reason="urgent")
    canceled = operator.act("cancel", subject_euid=subject, reason="withdrawn")

    assert [a["state"] for a in (held, released, requeued, canceled)] == ["HELD", "READY", "READY", "CANCELED"]


def test_only_an_admin_reopens_what_is_terminal(site: Site) -> None:
    operator = site.as_("operator")
    subject = operator.submit()
    operator.act("cancel", subject_euid=subject)

    assert operator.refused("requeue", subject_euid=subject, reopen=True, reason="mistake") == "forbidden"
    assert site.admin.act("requeue", subject_euid=subject, reopen=True, reason="mistake")["state"] == "READY"


def test_an_admin_ends_a_live_lease_and_its_holder_is_too_late(site: Site) -> None:
    site.admin.submit()
    [lease] = site.worker.claim(site.worker.register(), start=True)

    site.admin.act("expire-lease", lease_euid=lease["lease"], force=True, reason="the machine burnt down")

    assert site.worker.refused("complete", **site.worker.holder(lease)) == "lease_expired"


def test_an_admin_drains_disables_enables_and_retires_a_worker(site: Site) -> None:
    worker = site.worker.register()

    told = [site.admin.act(f"{verb}-worker", worker_euid=worker["euid"], reason="maintenance")["status"]
            for verb in ("drain", "enable", "disable", "enable", "retire")]  # fmt: skip

    assert told == ["DRAINING", "ONLINE", "DISABLED", "ONLINE", "RETIRED"]


def test_an_admin_defines_changes_and_retires_a_queue(site: Site) -> None:
    defined = site.admin.act("define-queue", policy={"queue_key": "new", "lease_ttl_seconds": 60})
    again = site.admin.act("define-queue", policy={"queue_key": "new", "lease_ttl_seconds": 60})
    changed = site.admin.act(
        "update-queue-policy", queue_key="new", changes={"lease_ttl_seconds": 90}, expected_revision=1
    )
    retired = site.admin.act("retire-queue", queue_key="new", reason="replaced")

    assert defined == again
    assert (changed["lease_ttl_seconds"], changed["revision"]) == (90, 2)
    assert retired["retired_at"] is not None
    assert site.admin.refused("update-queue-policy", queue_key="new", changes={"enabled": False}) == "queue_unknown"


def test_a_worker_that_was_superseded_can_neither_claim_nor_beat(site: Site) -> None:
    site.admin.submit()
    old = site.worker.register()
    site.worker.register()

    claim = {"worker_euid": old["euid"], "incarnation": old["incarnation"], "queue_key": "q"}
    assert site.worker.refused("claim", **claim) == "worker_superseded"
    beat = {"worker_euid": old["euid"], "incarnation": old["incarnation"]}
    assert site.worker.refused("heartbeat-worker", **beat) == "worker_superseded"


def test_registering_and_retiring_under_a_key_is_done_once(site: Site) -> None:
    spec = {"worker_key": "w", "max_concurrent_leases": 5}
    first = site.worker.act("register-worker", key="k", **spec)
    assert site.worker.act("register-worker", key="k", **spec)["incarnation"] == first["incarnation"]
    assert site.worker.refused("register-worker", key="k", worker_key="w") == "idempotency_conflict"

    retired = site.admin.act("retire-queue", key="k", queue_key="q", reason="moved")
    site.admin.act("define-queue", policy={"queue_key": "q"})
    assert site.admin.act("retire-queue", key="k", queue_key="q", reason="moved") == retired
    assert site.admin.get("/queues/q")["queue"]["retired_at"] is None


def test_a_heartbeat_takes_no_key(site: Site) -> None:
    worker = site.worker.register()
    beat = {"worker_euid": worker["euid"], "incarnation": worker["incarnation"]}

    refused = site.worker.ask("heartbeat-worker", key="k", **beat)

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_request")
    assert "harm" in refused.json()["hint"]


def test_nobody_else_can_use_a_lease(site: Site) -> None:
    site.admin.submit()
    worker, other = site.worker.register(), site.worker.register("other")
    [lease] = site.worker.claim(worker, start=True)
    holder = site.worker.holder(lease)

    assert site.worker.refused("complete", **holder | {"lease_token": "x" * 40}) == "forbidden"
    assert site.worker.refused("complete", **holder | {"worker_euid": other["euid"]}) == "forbidden"
    assert site.as_("worker_human").refused("complete", **holder) == "forbidden"
    assert site.worker.act("complete", **holder)["state"] == "COMPLETED"


def test_a_late_completion_is_refused(site: Site) -> None:
    site.admin.submit()
    [lease] = site.worker.claim(site.worker.register(), start=True, ttl_seconds=30)
    site.server.settings.clock.advance(seconds=31)

    assert site.worker.refused("renew-lease", **site.worker.holder(lease)) == "lease_expired"
    assert site.worker.refused("complete", **site.worker.holder(lease)) == "lease_expired"


@pytest.mark.parametrize(
    "guard, code",
    [({"expected_state": "RUNNING"}, "state_conflict"), ({"expected_revision": 9}, "revision_conflict"),
     ({"expected_seq": 9}, "seq_conflict")],
)  # fmt: skip
def test_a_guard_that_does_not_hold_changes_nothing(site: Site, guard: dict, code: str) -> None:  # type: ignore[type-arg]
    subject = site.admin.submit()

    assert site.admin.refused("hold", subject_euid=subject, reason="x", **guard) == code
    assert site.admin.get(f"/subjects/{subject}")["execution"]["revision"] == 1


# S1 section 11.2 through HTTP ------------------------------------------------------------------------------------------
def test_retry_idempotency(site: Site) -> None:
    subject = site.admin.submit()
    [lease] = site.worker.claim(site.worker.register(), start=True)
    holder = site.worker.holder(lease)

    first = site.worker.act("fail", key="f-1", **holder, retryable=True)
    second = site.worker.act("fail", key="f-1", **holder, retryable=True)

    assert (first["replayed"], second["replayed"]) == (False, True)
    assert first | {"replayed": True} == second
    assert site.admin.get(f"/subjects/{subject}")["execution"]["attempt_count"] == 1


def test_payload_hash_conflict(site: Site) -> None:
    subject = site.admin.submit()
    site.admin.act("hold", key="h-1", subject_euid=subject, reason="broken seal")
    before = site.admin.get(f"/subjects/{subject}/facts")

    assert site.admin.refused("hold", key="h-1", subject_euid=subject, reason="another") == "idempotency_conflict"
    assert site.admin.get(f"/subjects/{subject}/facts") == before


def test_completion_replay(site: Site) -> None:
    subject = site.admin.submit()
    [lease] = site.worker.claim(site.worker.register(), start=True)

    first = site.worker.act("complete", key="c-1", **site.worker.holder(lease), result=1)
    second = site.worker.act("complete", key="c-1", **site.worker.holder(lease), result=1)

    assert first | {"replayed": True} == second
    assert len(site.admin.get(f"/subjects/{subject}/history")["attempts"]) == 1


def test_a_submission_with_a_key_is_made_once(site: Site) -> None:
    def submit() -> dict:  # type: ignore[type-arg]
        return site.admin.request(
            "POST", "/subjects", json={"queue_key": "q", "name": "a"}, headers={"Idempotency-Key": "s-1"}
        ).json()

    first, second = submit(), submit()

    assert (first["subject"], first["replayed"], second["replayed"]) == (second["subject"], False, True)


def test_a_claim_with_a_key_is_answered_again_with_leases_that_can_be_used(site: Site) -> None:
    site.admin.submit()
    worker = site.worker.register()
    body = {"worker_euid": worker["euid"], "queue_key": "q", "start": True}

    first = site.worker.act("claim", key="k-1", **body)["leases"]
    second = site.worker.act("claim", key="k-1", **body)["leases"]

    assert first == second
    assert site.worker.act("complete", **site.worker.holder(second[0]))["state"] == "COMPLETED"


def test_a_claim_may_bring_a_secret_of_its_own(site: Site) -> None:
    site.admin.submit()

    [lease] = site.worker.claim(site.worker.register(), start=True, lease_token=OWN)

    assert lease["lease_token"] == OWN
    assert site.worker.act("complete", **site.worker.holder(lease))["state"] == "COMPLETED"


def test_the_key_may_stand_in_header_or_body_but_must_be_one(site: Site) -> None:
    subject = site.admin.submit()
    fields = {"subject_euid": subject, "reason": "broken seal"}

    assert site.admin.refused("hold", key="a", idempotency_key="b", **fields) == "invalid_request"
    assert site.admin.act("hold", key="a", idempotency_key="a", **fields)["replayed"] is False
    assert site.admin.act("hold", idempotency_key="a", **fields)["replayed"] is True
    assert site.admin.act("hold", key="a", **fields)["replayed"] is True


def test_secrets_of_leases_are_in_the_answer_of_the_claim_and_nowhere_else(site: Site) -> None:
    subject = site.admin.submit()
    [lease] = site.worker.claim(site.worker.register(), start=True)
    site.worker.act("complete", **site.worker.holder(lease))

    for path in (
        f"/subjects/{subject}",
        f"/subjects/{subject}/history",
        f"/subjects/{subject}/facts",
        "/leases",
        "/facts",
    ):
        assert lease["lease_token"] not in site.admin.request("GET", path).text


def test_what_may_change_in_a_queue_is_what_the_engine_lets_change() -> None:
    assert QueueChanges.model_fields.keys() == MUTABLE
