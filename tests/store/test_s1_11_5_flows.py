"""S1 section 11.5: wet-lab and compute flows over the same engine."""

from __future__ import annotations

import pytest

from tenure.model.states import RecordStatus
from tests.store.harness import Bench

SPECIMEN, ANALYSIS, ARTIFACT = (
    "content/material/specimen/1.0",
    "data/analysis/request/1.0",
    "data/analysis/artifact/1.0",
)
WET_LAB = (
    ("extraction_prod", "create_extraction", False),
    ("post_extract_qc", "record_post_extract_qc", True),
    ("ilmn_lib_prep", "create_library_prep", False),
    ("ilmn_seq_pool", "create_pool", False),
    ("ilmn_start_seq_run", "create_run", True),
)


@pytest.fixture
def wet_lab(bench: Bench) -> Bench:
    for key, _, manual in WET_LAB:
        bench.define_queue(key, subject_template_codes=(SPECIMEN,), manual_only=manual)
    return bench


@pytest.fixture
def compute(bench: Bench) -> Bench:
    for key in ("compute_dispatch", "analysis_qc"):
        bench.define_queue(key, subject_template_codes=(ANALYSIS,))
    bench.define_template(ARTIFACT)
    return bench


def test_wet_lab_queue_chain_regression(wet_lab: Bench) -> None:
    bench = wet_lab
    robot, person = bench.worker("robot"), bench.person()
    specimen = bench.subject(
        None, template=SPECIMEN, ready=False, external_ref="MX20001", properties={"tube": "A1"}
    )  # accepted
    bench.requeue(specimen, queue_key="extraction_prod", next_action_key="create_extraction")
    following = [*WET_LAB[1:], (None, None, None)]

    seen = []
    for (key, action, manual), (next_key, next_action, _) in zip(WET_LAB, following, strict=True):
        seen.append([k for k, _, _ in WET_LAB if bench.visible(k) == [specimen]])
        held = bench.take(person if manual else robot, key)
        assert held.item.next_action_key == action
        bench.start(held)
        bench.complete(held, next_queue_key=next_key, next_action_key=next_action)

    assert seen == [[key] for key, _, _ in WET_LAB]
    assert bench.state(specimen) == "COMPLETED"
    actions = [fact.type for fact in bench.facts(specimen)]
    assert actions == [
        "subject.submitted", "subject.requeued", *["lease.claimed", "execution.started", "execution.completed"] * len(WET_LAB),
    ]  # fmt: skip


def test_failed_quality_control_holds_the_specimen_until_a_person_releases_it(wet_lab: Bench) -> None:
    bench = wet_lab
    specimen = bench.subject("post_extract_qc", template=SPECIMEN)
    person = bench.person()

    bench.fail(bench.run_it(person, "post_extract_qc"), error_class="BUSINESS_RULE_HOLD", error_code="YIELD_TOO_LOW")
    held = bench.state(specimen)
    bench.release_hold(specimen, reason="measured again")

    assert (held, bench.visible("post_extract_qc")) == ("HELD", [specimen])


def test_compute_execution_flow(compute: Bench) -> None:
    bench = compute
    cluster, person = bench.worker("cluster"), bench.person()
    request = bench.subject("compute_dispatch", template=ANALYSIS, next_action_key="start_analysis_run")
    held = bench.take(cluster, "compute_dispatch")
    states = [bench.state(request)]
    bench.start(held)
    states.append(bench.state(request))
    bench.dispatch_external(held, external_ref="slurm:4711")
    states.append(bench.state(request))
    artifact = bench.subject(None, template=ARTIFACT, ready=False, payload_ref="file:///runs/4711/out.bam")
    bench.complete(held, outputs=(artifact,), next_queue_key="analysis_qc", next_action_key="record_analysis_qc")
    states.append(bench.state(request))
    bench.complete(bench.run_it(person, "analysis_qc"))
    states.append(bench.state(request))

    assert states == ["READY", "RUNNING", "WAITING_EXTERNAL", "READY", "COMPLETED"]
    assert [edge.parent for edge in bench.lineage(artifact)] == [held.lease + 1]


def test_artifact_reprocessing_compatibility(compute: Bench) -> None:
    bench = compute
    cluster = bench.worker("cluster")
    request = bench.subject("compute_dispatch", template=ANALYSIS)
    artifact = bench.subject(None, template=ARTIFACT, ready=False)
    first = bench.run_it(cluster, "compute_dispatch")
    bench.complete(first, outputs=(artifact,))
    before = {(e.parent, e.child, e.relation) for e in bench.lineage(request)}

    bench.requeue(request, reopen=True, reason="new reference genome")
    bench.complete(bench.run_it(cluster, "compute_dispatch"), outputs=(artifact,))

    after = {(e.parent, e.child, e.relation) for e in bench.lineage(request)}
    attempts = bench.thread(request).attempts
    assert before < after
    assert [a.record_status for a in attempts.values()] == [RecordStatus.SUCCEEDED] * 2
    assert attempts[first.lease].ended_at is not None
    assert len(bench.lineage(artifact)) == 2
    assert bench.verify(subject=request).clean


def test_uncertain_external_work_is_reconciled_with_a_record_of_its_own(compute: Bench) -> None:
    bench = compute
    request = bench.subject("compute_dispatch", template=ANALYSIS)
    held = bench.run_it(bench.worker("cluster"), "compute_dispatch")
    bench.dispatch_external(held)
    bench.later(86400 * 30)
    waiting = bench.state(request)

    bench.requeue(request, reason="the cluster lost it")

    records = [a for a in bench.thread(request).attempts.values() if a.lease_status is None]
    assert (waiting, bench.state(request)) == ("WAITING_EXTERNAL", "READY")
    assert [record.release_reason for record in records] == ["RECONCILED"]
