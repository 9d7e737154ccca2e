"""Identity: one face for every object, references of its own, tenants apart (design 01, Identity)."""

from __future__ import annotations

import pytest

from tenure.model.euid import SUBJECT, WORKER, format_euid, parse_euid
from tenure.testing.store_contract.bench import Bench
from tenure.testing.store_contract.dump import state_of


@pytest.fixture
def other(bench: Bench) -> Bench:
    neighbour = bench.other_tenant(f"neighbour-of-{bench.caller.tenant_key}")
    neighbour.define_queue("q")
    return neighbour


def test_object_is_found_by_its_euid(bench: Bench) -> None:
    bench.define_queue("q")
    result = bench.submit(queue_key="q", name="tube 7")

    assert bench.inspect(result.as_dict()["subject"]).subject.name == "tube 7"


def test_prefix_of_an_euid_decides_nothing(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()

    assert bench.inspect(format_euid(WORKER, subject)).subject.uid == subject


def test_kinds_of_objects_share_one_sequence(bench: Bench) -> None:
    queue = bench.define_queue("q")
    worker, subject = bench.worker(), bench.subject()
    held = bench.run_it(worker)
    hold = bench.hold(subject, reason="broken seal").data["hold"]

    assert queue.uid < worker.uid < subject < held.lease < hold


def test_mistyped_euid_is_refused(bench: Bench) -> None:
    bench.define_queue("q")
    right = format_euid(SUBJECT, bench.subject())
    wrong = right[:-1] + ("0" if right[-1] != "0" else "1")
    before = state_of(bench)

    refused = bench.error(bench.cancel, wrong)

    assert (refused.code, state_of(bench)) == ("invalid_euid", before)


def test_subject_is_found_by_its_external_reference(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject(external_ref="MX20001")

    assert bench.find_subject("MX20001") == subject
    assert bench.find_subject("MX20002") is None


def test_external_reference_is_given_once_in_a_tenant(bench: Bench) -> None:
    bench.define_queue("q")
    bench.subject(external_ref="MX20001")
    before = state_of(bench)

    refused = bench.error(bench.submit, queue_key="q", external_ref="MX20001")

    assert (refused.code, state_of(bench)) == ("already_exists", before)


def test_external_reference_repeated_in_one_set_is_given_to_the_first(bench: Bench) -> None:
    bench.define_queue("q")
    one = {"queue_key": "q", "external_ref": "MX20001"}

    first, second = bench.submit_many([one, one])

    assert (bench.find_subject("MX20001"), second.code) == (first.subject, "already_exists")


def test_tenants_may_use_the_same_reference_and_key(bench: Bench, other: Bench) -> None:
    bench.define_queue("q")
    mine = bench.submit(queue_key="q", external_ref="MX20001", idempotency_key="key")

    its = other.submit(queue_key="q", external_ref="MX20001", idempotency_key="key")

    assert not its.replayed
    assert (bench.find_subject("MX20001"), other.find_subject("MX20001")) == (mine.subject, its.subject)


@pytest.mark.parametrize(
    "ask",
    [
        lambda other, subject: other.inspect(subject),
        lambda other, subject: other.why(subject),
        lambda other, subject: other.history(subject),
        lambda other, subject: other.as_of(subject, seq=1),
        lambda other, subject: other.verify(subject=subject),
        lambda other, subject: other.hold(subject, reason="look at it"),
        lambda other, subject: other.release_hold(subject),
        lambda other, subject: other.requeue(subject),
        lambda other, subject: other.cancel(subject),
        lambda other, subject: other.resolve_dead_letter(subject, reason="known"),
        lambda other, subject: other.claim(other.worker(), "q", subject=subject),
        lambda other, subject: other.submit(queue_key="q", parents=(subject,)),
    ],
)
def test_subject_of_another_tenant_is_not_there(bench: Bench, other: Bench, ask: object) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    before = state_of(bench)

    refused = bench.error(ask, other, subject)

    assert (refused.code, refused.status) == ("not_found", 404)
    assert state_of(bench) == before


@pytest.mark.parametrize(
    "act",
    [
        lambda other, lease: other.start(lease),
        lambda other, lease: other.renew(lease),
        lambda other, lease: other.complete(lease),
        lambda other, lease: other.fail(lease),
        lambda other, lease: other.release_lease(lease),
        lambda other, lease: other.defer(lease, until=other.in_seconds(5)),
        lambda other, lease: other.dispatch_external(lease),
        lambda other, lease: other.expire_lease(lease.lease, force=True),
    ],
)
def test_lease_of_another_tenant_is_not_there_even_for_who_holds_its_token(
    bench: Bench, other: Bench, act: object
) -> None:
    bench.define_queue("q")
    bench.subject()
    held = bench.take(bench.worker())
    before = state_of(bench)

    refused = bench.error(act, other, held)

    assert (refused.code, state_of(bench)) == ("not_found", before)


@pytest.mark.parametrize("action", ["drain_worker", "disable_worker", "enable_worker", "retire_worker"])
def test_worker_of_another_tenant_is_not_there(bench: Bench, other: Bench, action: str) -> None:
    worker = bench.worker()
    before = state_of(bench)

    refused = bench.error(getattr(other, action), worker)

    assert (refused.code, state_of(bench)) == ("not_found", before)


def test_worker_of_another_tenant_is_not_kept_alive(bench: Bench, other: Bench) -> None:
    worker = bench.worker()
    bench.later(5)

    refused = bench.error(other.heartbeat_worker, worker, incarnation=worker.incarnation)

    assert refused.code == "not_found"
    assert bench.workers_all()[0].heartbeat_at == worker.heartbeat_at


def test_lists_show_nothing_of_another_tenant(bench: Bench, other: Bench) -> None:
    bench.define_queue("q")
    worker = bench.worker()
    bench.subject()
    bench.subject()
    bench.fail(bench.run_it(worker), retryable=False)
    bench.take(worker)
    bench.hold(bench.subject(), reason="broken seal")

    assert (other.leases(None), other.holds(), other.dead_letters(), other.workers_all()) == ([], [], [], [])
    assert other.visible() == []
    assert other.counts().queue_depth == other.counts().held_count == other.counts().dead_letter_count == 0


def test_lineage_shows_nothing_to_another_tenant(bench: Bench, other: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    bench.run_it(bench.worker())

    assert other.lineage(subject) == []


def test_sweep_leaves_the_leases_of_another_tenant_alone(bench: Bench, other: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    bench.subject()
    bench.take(bench.worker())
    for tenant in (bench, other):
        tenant.at(bench.now.replace(hour=20))

    assert other.sweep() == []
    assert len(bench.sweep()) == 1


def test_facts_of_another_tenant_are_not_shown(bench: Bench, other: Bench) -> None:
    bench.define_queue("q")

    assert other.facts(bench.subject()) == []


def test_output_must_be_a_subject_of_the_tenant(bench: Bench, other: Bench) -> None:
    bench.define_queue("q")
    bench.subject()
    held = bench.run_it(bench.worker())
    before = state_of(bench)

    refused = bench.error(bench.complete, held, outputs=(other.subject(),))

    assert (refused.code, state_of(bench)) == ("not_found", before)


def test_euid_of_a_subject_can_be_read_back(bench: Bench) -> None:
    bench.define_queue("q")
    result = bench.submit(queue_key="q")

    assert parse_euid(result.as_dict()["subject"]) == result.subject
