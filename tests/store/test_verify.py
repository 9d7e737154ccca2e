"""Verify finds each kind of tampering that only a superuser with the triggers off can do, and nothing else."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenure.engine.verify import Report
from tenure.model.errors import NotFound
from tenure.model.states import ErrorClass
from tests.store.actions import NOON, Lab

# Tables whose rows verify compares with what the facts tell, and of each a column that facts tell of.
ROW_CHANGES = {
    "envelope": [
        "update tenure.execution set priority = 9",
        "update tenure.execution set attempt_count = attempt_count + 1",
        "update tenure.execution set max_attempts_override = 40",
        "update tenure.execution set due_at = '2027-01-01'",
        "update tenure.execution set site = 'elsewhere'",
        "update tenure.execution set next_queue_key = 'other'",
        "update tenure.execution set state = 'COMPLETED' where state = 'FAILED_TERMINAL'",
        "update tenure.execution set last_record = 1",
        "update tenure.execution set created_at = created_at - interval '1 day'",
    ],
    "attempt": [
        "update tenure.attempt set worker = worker + 2",
        "update tenure.attempt set ended_at = ended_at - interval '1 minute' where ended_at is not null",
        "update tenure.attempt set started_at = null",
        "update tenure.attempt set record_status = 'SUCCEEDED', lease_status = 'COMPLETED' where record_status = 'FAILED_TERMINAL'",
        "update tenure.attempt set error_class = 'TRANSIENT_SYSTEM' where error_class is not null",
        "update tenure.attempt set external_ref = 'elsewhere'",
        "delete from tenure.attempt",
        "update tenure.attempt set subject = (select min(uid) from tenure.execution)",
    ],
    "hold": [
        "update tenure.hold set reason = 'none'",
        "update tenure.hold set placed_by = 'user:nobody'",
        "update tenure.hold set released_at = null, released_by = null, status = 'ACTIVE'",
        "delete from tenure.hold",
    ],
    "dead_letter": [
        "update tenure.dead_letter set error_class = 'TRANSIENT_SYSTEM'",
        "update tenure.dead_letter set failure_count = 7",
        "update tenure.dead_letter set resolved_by = 'user:nobody'",
        "delete from tenure.dead_letter",
    ],
}  # fmt: skip
CHANGES = [(kind, change) for kind, changes in ROW_CHANGES.items() for change in changes]


@pytest.fixture
def busy(lab: Lab) -> Lab:
    """One subject that completed with an output, one that was held and released, one that became a dead letter."""
    lab.define("other")
    done, held, dead = lab.submit(due_at=NOON + timedelta(days=1)), lab.submit(), lab.submit()
    lab.later(60)
    item = lab.claim(subject=done)[0]
    lab.renew(item)
    lab.complete(item, outputs=(held,), result={"ratio": 0.5})
    lab.hold(held)
    lab.later(60)
    lab.release_hold(held)
    lab.fail(lab.claim(subject=dead)[0], error_class=ErrorClass.PERMANENT_INPUT, error_message="bad barcode")
    lab.resolve(dead)
    lab.claim(subject=held)
    return lab


def kinds(report: Report) -> set[str]:
    return set(report.found)


def test_a_clean_database_is_clean_and_the_report_says_what_was_checked(busy: Lab) -> None:
    report = busy.verified()
    assert report.clean
    assert report.first == {}
    facts = busy.sql("select count(*) from tenure.fact")[0][0]
    assert (report.subjects, report.facts, report.attempts, report.owners) == (3, facts, 3, 4)


def test_progress_is_told_batch_by_batch_up_to_all(busy: Lab) -> None:
    told: list[tuple[int, int]] = []
    busy.verified(batch=2, progress=lambda done, total: told.append((done, total)))
    assert told == [(2, 3), (3, 3)]


@pytest.mark.parametrize(("kind", "change"), CHANGES)
def test_a_row_that_was_changed_behind_the_law_is_found(busy: Lab, kind: str, change: str) -> None:
    busy.tamper(change)
    report = busy.verified()
    assert f"{kind}_differs" in kinds(report)
    assert report.first[f"{kind}_differs"].thread in {row[0] for row in busy.sql("select uid from tenure.subject")}


def test_the_first_divergence_names_the_field_and_both_values(busy: Lab) -> None:
    busy.tamper("update tenure.execution set priority = 9 where uid = (select max(uid) from tenure.subject)")
    report = busy.verified()
    assert dict(report.found) == {"envelope_differs": 1}
    assert report.first["envelope_differs"].evidence["fields"] == {"priority": {"rows": 9, "facts": 0}}


@pytest.mark.parametrize(
    "change",
    [
        """update tenure.fact set data = data || '{"ttl": 901}' where type = 'lease.claimed'""",
        "update tenure.fact set actor = 'user:eve' where seq = 2",
        "update tenure.fact set at = at + interval '1 microsecond' where seq = 1",
        "update tenure.fact set payload_hash = null where payload_hash is not null",
        "update tenure.fact set lease = lease + 2 where type = 'execution.completed'",
        "update tenure.fact set correlation_id = 'x' where seq = 1",
        "update tenure.fact set hash = sha256('x') where seq = 1",
    ],
)
def test_a_changed_fact_breaks_the_chain(busy: Lab, change: str) -> None:
    busy.tamper(change)
    assert "hash_broken" in kinds(busy.verified())


def test_a_changed_last_fact_is_found_although_nothing_follows_it(busy: Lab) -> None:
    busy.tamper(
        "update tenure.fact f set hash = sha256('x') from tenure.execution e where e.uid = f.thread and e.seq = f.seq"
    )
    assert kinds(busy.verified()) >= {"hash_broken"}


def test_a_chain_that_was_hashed_anew_does_not_fit_the_envelope(busy: Lab) -> None:
    """Whoever rewrites the last fact with a right hash must also write the head, and then the fold tells."""
    (uid, seq) = busy.sql("select uid, seq from tenure.execution order by uid desc limit 1")[0]
    busy.tamper(
        """update tenure.fact f set actor = 'user:eve', hash = tenure.fact_hash(p.hash, f.thread, f.seq, f.at, f.tenant, f.revision,
            f.lease, f.worker, f.type, 'user:eve', f.state, f.queue_key, f.idempotency_key, f.payload_hash, f.correlation_id,
            f.causation_id, f.trace_id, f.data)
        from tenure.fact p where f.thread = %s and f.seq = %s and p.thread = f.thread and p.seq = f.seq - 1""",
        uid, seq,
    )  # fmt: skip
    assert kinds(busy.verified()) >= {"hash_broken"}
    busy.tamper(
        "update tenure.execution e set head = f.hash from tenure.fact f where f.thread = e.uid and f.seq = e.seq"
    )
    assert kinds(busy.verified()) == {"dead_letter_differs"}


@pytest.mark.parametrize("which", ["1", "2", "(select max(seq) from tenure.fact g where g.thread = f.thread)"])
def test_a_deleted_fact_leaves_a_gap(busy: Lab, which: str) -> None:
    busy.tamper(f"delete from tenure.fact f where seq = {which} and thread in (select uid from tenure.subject)")
    assert "seq_gap" in kinds(busy.verified())


def test_facts_that_no_longer_make_sense_are_reported_and_the_search_goes_on(busy: Lab) -> None:
    first, *_, last = (row[0] for row in busy.sql("select uid from tenure.subject order by uid"))
    busy.tamper("update tenure.fact set data = '[1]' where thread = %s and type = 'lease.claimed'", first)
    busy.tamper("update tenure.execution set priority = 9 where uid = %s", last)
    report = busy.verified()
    assert report.first["unfoldable"].thread == first
    assert report.first["envelope_differs"].thread == last


@pytest.mark.parametrize("edge", ["queue = null", "queue = 2", "subject = 2", "attempt = 2"])
def test_a_dead_letter_without_one_of_its_edges_is_found(busy: Lab, edge: str) -> None:
    busy.tamper(f"update tenure.dead_letter set {edge}")
    assert "dead_letter_without_edges" in kinds(busy.verified())


def test_a_missing_edge_to_an_output_is_found(busy: Lab) -> None:
    busy.tamper("delete from tenure.link")
    assert kinds(busy.verified()) == {"output_differs"}


def test_an_edge_to_an_output_that_no_fact_tells_of_is_found(busy: Lab) -> None:
    busy.tamper("update tenure.link set child = child + 2")
    assert kinds(busy.verified()) == {"output_differs"}


def test_two_live_leases_of_one_slot_are_found(busy: Lab) -> None:
    busy.sql("drop index tenure.one_live_lease")
    busy.tamper(
        """insert into tenure.attempt (uid, tenant, subject, queue, worker, attempt_number, lease_status, record_status, claimed_at,
            expires_at, token_hash)
        select nextval('tenure.uid'), tenant, subject, queue, worker, attempt_number, lease_status, record_status, claimed_at,
            expires_at, token_hash
        from tenure.attempt where lease_status = 'ACTIVE'"""
    )
    report = busy.verified()
    assert kinds(report) == {"overlapping_leases", "attempt_differs", "untold_attempt"}
    assert len(report.first["overlapping_leases"].evidence["leases"]) == 2


def test_leases_that_overlapped_in_the_past_are_found(lab: Lab) -> None:
    subject = lab.submit()
    lab.release(lab.claim()[0])
    lab.later(60)
    lab.complete(lab.claim()[0])
    lab.tamper("update tenure.attempt set ended_at = ended_at + interval '2 minutes' where lease_status = 'RELEASED'")
    report = lab.verified(subject=subject)
    assert kinds(report) == {"overlapping_leases", "attempt_differs"}


def test_a_lease_that_ended_twice_is_found(lab: Lab) -> None:
    lab.submit()
    lab.complete(lab.claim()[0])
    lab.tamper(
        """insert into tenure.fact (thread, seq, tenant, at, lease, worker, revision, state, type, actor, queue_key, hash)
        select thread, seq + 1, tenant, at, lease, worker, revision, state, type, actor, queue_key, hash
        from tenure.fact where type = 'execution.completed'"""
    )
    assert kinds(lab.verified()) >= {"second_ending", "seq_gap", "hash_broken"}


def test_an_attempt_that_no_fact_tells_of_is_found(busy: Lab) -> None:
    busy.tamper(
        """insert into tenure.attempt (uid, tenant, subject, queue, attempt_number, record_status)
        select nextval('tenure.uid'), tenant, subject, queue, 1, 'SUCCEEDED' from tenure.attempt limit 1"""
    )
    assert kinds(busy.verified()) == {"untold_attempt"}


def test_a_type_that_is_not_registered_is_found(busy: Lab) -> None:
    busy.tamper("delete from tenure.fact_type where type = 'lease.renewed'")
    report = busy.verified()
    assert kinds(report) == {"unregistered_fact_type"}
    assert report.first["unregistered_fact_type"].evidence["type"] == "lease.renewed"


@pytest.mark.parametrize(("table", "lacks"), [("execution", "envelope"), ("subject", "subject")])
def test_half_of_a_subject_is_not_enough(busy: Lab, table: str, lacks: str) -> None:
    busy.tamper(f"delete from tenure.{table} where uid = (select min(uid) from tenure.subject)")
    assert busy.verified().first["orphan"].evidence == {"lacks": lacks}


def test_facts_that_were_left_without_an_owner_are_found(busy: Lab) -> None:
    busy.tamper("delete from tenure.worker")
    assert busy.verified().first["orphan"].evidence == {"lacks": "owner"}


@pytest.mark.parametrize("owner", ["queue", "worker", "tenant"])
def test_threads_of_queues_workers_and_tenants_are_chained_too(busy: Lab, owner: str) -> None:
    busy.tamper(f"update tenure.fact set actor = 'user:eve' where thread = (select min(uid) from tenure.{owner})")
    report = busy.verified()
    assert kinds(report) == {"hash_broken"}
    busy.tamper(f"delete from tenure.fact where thread = (select min(uid) from tenure.{owner})")
    assert kinds(busy.verified()) == {"seq_gap"}


@pytest.mark.parametrize(
    "change",
    [
        "update tenure.subject set properties = properties || '{\"added\": 1}'",
        "update tenure.subject set name = 'another'",
        "update tenure.subject set external_ref = 'tube-' || uid",
        "update tenure.subject set payload_ref = 's3://elsewhere'",
        "update tenure.subject set correlation_id = 'other'",
    ],
)
def test_data_that_was_changed_after_submission_is_found(busy: Lab, change: str) -> None:
    busy.tamper(change)
    assert kinds(busy.verified()) == {"inputs_differ"}


def test_a_result_that_was_changed_after_completion_is_found(lab: Lab) -> None:
    lab.submit()
    lab.complete(lab.claim(start=True)[0], result={"ratio": 0.5})
    assert lab.verified().clean
    lab.tamper("update tenure.attempt set result = '{\"ratio\": 0.9}'")
    assert kinds(lab.verified()) == {"result_differs"}


def test_a_long_thread_of_a_queue_is_read_page_by_page(lab: Lab) -> None:
    for i in range(25):
        lab.update("q", display_name=f"name {i}")
    assert lab.verified().clean
    lab.tamper("update tenure.fact set actor = 'user:eve' where thread = %s and seq = 20", lab.queue.uid)
    report = lab.verified()
    assert report.first["hash_broken"].evidence["seq"] == 20


def test_one_subject_or_one_tenant_can_be_verified_alone(busy: Lab) -> None:
    one, two, _ = (row[0] for row in busy.sql("select uid from tenure.subject order by uid"))
    busy.tamper("update tenure.execution set priority = 9 where uid = %s", one)
    assert not busy.verified(subject=one).clean
    assert busy.verified(subject=two).clean
    other = busy.run(busy.store.tenant("other", create=True, actor="user:eve"))
    report = busy.verified(tenant=other)
    assert (report.clean, report.subjects, report.owners) == (True, 0, 1)
    with pytest.raises(NotFound):
        busy.verified(tenant=other, subject=one)


def test_a_sample_is_a_share_of_the_subjects_and_the_same_every_time(lab: Lab) -> None:
    for _ in range(300):
        lab.submit()
    sizes = [lab.verified(sample=share).subjects for share in (0.0, 0.3, 0.3, 1.0)]
    assert sizes[0] == 0
    assert 50 < sizes[1] == sizes[2] < 130
    assert sizes[3] == 300
