"""What Slurm 22.05 and 24.11 were recorded to print of jobs in each state (tests/hpc/data), and what it means."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tenure.agent.scheduler import JobStatus, Phase, SchedulerUnavailable
from tenure.agent.slurm import accounting, completions, squeue_json
from tenure.agent.slurm.record import Record
from tenure.agent.slurm.states import NEED_MORE, status

_DATA = Path(__file__).parents[1] / "hpc" / "data"
_PRINTED = (_DATA / "slurm-24.11" / "squeue.json").read_bytes()
_COMPLETIONS = _DATA / "slurm-24.11" / "completions.log"
_VERSIONS = ("22.05", "24.11")
_ALL = 1 << 30

#: Name of the recorded job -> phase, failure code, retryable, exit code.
_MEANT = {
    "completed": (Phase.COMPLETED, None, None, 0),
    "exit-3": (Phase.FAILED, "FAILED", False, 3),
    "killed-by-signal": (Phase.FAILED, "FAILED", False, None),
    "out-of-memory": (Phase.FAILED, "OUT_OF_MEMORY", False, None),
    "out-of-memory-of-a-part": (Phase.FAILED, "OUT_OF_MEMORY", False, None),
    "timeout": (Phase.FAILED, "TIMEOUT", False, None),
    "deadline": (Phase.FAILED, "DEADLINE", False, None),
    "cancelled-waiting": (Phase.FAILED, "CANCELLED", False, None),
    "cancelled-running": (Phase.FAILED, "CANCELLED", False, None),
    "preempted": (Phase.FAILED, "PREEMPTED", True, None),
    "node-failed": (Phase.FAILED, "NODE_FAIL", True, None),
    "boot-failed": (Phase.FAILED, "BOOT_FAIL", True, None),
    "dependency": (Phase.FAILED, "DependencyNeverSatisfied", False, None),
    "dependency-never": (Phase.FAILED, "DependencyNeverSatisfied", False, None),
    "dependency-never-killed": (Phase.FAILED, "DependencyNeverSatisfied", False, None),
    "held": (Phase.WAITING, None, None, None),
    "begins-later": (Phase.WAITING, None, None, None),
    "longer-than-allowed": (Phase.WAITING, None, None, None),
    "requeued": (Phase.WAITING, None, None, None),
    "requeued-and-held": (Phase.WAITING, None, None, None),
    "preempted-and-requeued": (Phase.WAITING, None, None, None),
    "node-failed-and-requeued": (Phase.WAITING, None, None, None),
    "running": (Phase.RUNNING, None, None, None),
    "suspended": (Phase.RUNNING, None, None, None),
    "urgent": (Phase.RUNNING, None, None, None),
    "completing": (Phase.ENDING, None, None, None),
}


_NOT_RECORDED = {("22.05", "boot-failed")}


def _names(version: str) -> set[str]:
    return {name for name in _MEANT if (version, name) not in _NOT_RECORDED}


@pytest.fixture(scope="module", params=_VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def recorded(version: str) -> Path:
    return _DATA / f"slurm-{version}"


@pytest.fixture(scope="module")
def queue(recorded: Path) -> dict[str, Record]:
    return {record.name: record for record in squeue_json.records((recorded / "squeue.json").read_bytes())}


@pytest.fixture(scope="module")
def finished(recorded: Path) -> dict[str, Record]:
    found = completions.ended(recorded / "completions.log", _ALL, lambda _: True)
    return {record.name: record for record in found}


@pytest.fixture(scope="module")
def accounted(recorded: Path) -> dict[str, Record]:
    rows = accounting.records((recorded / "sacct.txt").read_text())
    return {record.name: record for record in accounting.newest(rows)}


def test_each_state_has_its_phase_its_failure_and_its_exit_code(version: str, queue: dict[str, Record]):
    names = _names(version)
    assert {name: _told(status(queue[name])) for name in names} == {name: _MEANT[name] for name in names}


def test_the_file_of_completions_tells_the_same_of_what_has_ended(version: str, finished: dict[str, Record]):
    pending = {"dependency", "dependency-never"}
    assert not pending & set(finished), "these pend in Slurm for ever"
    assert _told(status(finished["dependency-never-killed"]))[:2] == (Phase.FAILED, "CANCELLED"), "it has no reasons"
    names = {name for name in _names(version) if _MEANT[name][0] in (Phase.COMPLETED, Phase.FAILED)}
    names -= pending | {"dependency-never-killed"}
    assert {name: _told(status(finished[name])) for name in names} == {name: _MEANT[name] for name in names}


def test_accounting_tells_the_same_of_what_has_ended(accounted: dict[str, Record]):
    # What never became eligible is not in the database.
    told = {name for name in _MEANT if _MEANT[name][0] in (Phase.COMPLETED, Phase.FAILED)} & set(accounted)
    assert told >= {"completed", "exit-3", "timeout", "preempted", "node-failed", "deadline", "out-of-memory"}
    for name in told:
        assert _told(status(accounted[name])) == _MEANT[name], name
    assert status(accounted["deadline"]).started_at is None
    assert replace(accounted["exit-3"], user_id=os.geteuid()).answers_to("key-of-exit-3")
    assert accounted["refused"].refused


def test_of_a_requeued_job_the_last_beginning_counts(accounted: dict[str, Record]):
    assert (accounted["requeued"].state, accounted["requeued"].restarts) == ("RUNNING", 1)
    assert (accounted["preempted-and-requeued"].state, accounted["preempted-and-requeued"].restarts) == ("PENDING", 1)
    assert (accounted["node-failed"].state, accounted["node-failed"].restarts) == ("NODE_FAIL", 0)


def test_the_two_sources_agree_on_times(queue: dict[str, Record], finished: dict[str, Record], monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    for name in ("completed", "exit-3", "cancelled-waiting", "node-failed"):
        one, other = status(queue[name]), status(finished[name])
        assert (one.started_at, one.ended_at) == (other.started_at, other.ended_at)


def test_a_requeue_is_no_end_and_counts_a_restart(queue: dict[str, Record], finished: dict[str, Record]):
    for name in ("requeued", "requeued-and-held", "preempted-and-requeued", "node-failed-and-requeued"):
        assert (status(queue[name]).restarts, status(queue[name]).started_at) == (1, None)
    assert status(queue["running"]).restarts == 0
    # Its line in the file is PENDING. (A requeue by the controller itself leaves the line of the end that it had.)
    assert not {"requeued", "requeued-and-held"} & set(finished)


def test_what_a_refused_submission_leaves_behind_is_no_job(queue: dict[str, Record], finished: dict[str, Record]):
    refused = {name for name, record in queue.items() if record.refused}
    assert refused == {"refused"}
    assert finished["refused"].refused


def test_what_waits_for_a_person_is_a_problem_and_what_waits_for_its_turn_is_none(queue: dict[str, Record]):
    stuck = {name for name, record in queue.items() if status(record).problem is not None}
    assert stuck == {"sbatch", "held", "longer-than-allowed", "requeued-and-held"}
    assert "PartitionTimeLimit" in str(status(queue["longer-than-allowed"]).problem)


def test_a_job_that_never_had_a_node_has_not_started(queue: dict[str, Record]):
    assert status(queue["cancelled-waiting"]).started_at is None
    assert status(queue["cancelled-running"]).started_at is not None
    assert status(queue["suspended"]).detail == "SUSPENDED"


def test_what_only_more_resources_help_against_says_so(queue: dict[str, Record]):
    assert set(NEED_MORE) == {"OUT_OF_MEMORY", "TIMEOUT"}
    for name, ask in (("out-of-memory", "memory_mib"), ("timeout", "walltime_seconds")):
        failure = status(queue[name]).failure
        assert failure is not None
        assert ask in failure.message


def _federated(name: str) -> dict[str, Record]:
    """By name; jobs that were submitted to a cluster of a federation, and begun by another one."""
    told = (_DATA / "slurm-24.11" / name).read_text()
    rows = squeue_json.records(told.encode()) if name.endswith(".json") else accounting.newest(accounting.records(told))
    return {record.name: record for record in rows}


def test_a_job_that_another_cluster_runs_has_not_ended_and_ends_as_it_ended_there():
    queue = _federated("federation-squeue.json")
    assert {name: _told(status(record)) for name, record in queue.items()} == {
        "elsewhere-ok": (Phase.COMPLETED, None, None, 0),
        "elsewhere-exit-3": (Phase.FAILED, "FAILED", False, 3),
        "elsewhere-killed": (Phase.FAILED, "FAILED", False, None),
        "elsewhere-cancelled": (Phase.FAILED, "CANCELLED", False, None),
        "elsewhere-long": (Phase.ENDING, None, None, None),
    }
    assert "exit code 3" in str(status(queue["elsewhere-exit-3"]).failure)
    assert not any(record.refused for record in queue.values())
    # 22.05 has one word for all of them: nothing is concluded, until the file of completions or accounting tells the end.
    assert status(replace(queue["elsewhere-ok"], state="REVOKED")).phase is Phase.ENDING


def test_accounting_tells_what_the_cluster_says_that_ran_the_job():
    rows = _federated("federation-sacct.txt")
    assert {name: (record.state, record.restarts) for name, record in rows.items()} == {
        "elsewhere-ok": ("COMPLETED", 0), "elsewhere-exit-3": ("FAILED", 0), "elsewhere-killed": ("FAILED", 0),
        "elsewhere-cancelled": ("CANCELLED", 0), "elsewhere-long": ("RUNNING", 0),
    }  # fmt: skip
    assert status(rows["elsewhere-exit-3"]).exit_code == 3


def test_nothing_is_concluded_from_a_word_of_a_newer_version():
    told = status(Record("7", "key", "TELEPORTED", os.geteuid()))
    assert (told.phase, told.detail, told.failure) == (Phase.ENDING, "TELEPORTED", None)


def test_the_key_is_in_name_or_comment_and_counts_on_our_own_jobs_only(queue: dict[str, Record]):
    record = Record("7", "changed by a plugin", "RUNNING", os.geteuid(), comment="key")
    assert record.answers_to("key")
    assert record.answers_to("changed by a plugin")
    assert not record.answers_to("")
    assert not Record("7", "key", "RUNNING", os.geteuid() + 1, comment="key").answers_to("key")
    assert queue["running"].comment == "key-of-running"


@pytest.mark.parametrize(
    "printed",
    [b"", b"[]", b"{}", b"slurm_load_jobs error: Unable to contact slurm controller", _PRINTED[:-100], b'{"jobs": [{}]}',
     b'{"errors": [{"error": "no"}], "jobs": []}', b"null"],
)  # fmt: skip
def test_half_an_answer_is_no_answer(printed: bytes):
    with pytest.raises(SchedulerUnavailable):
        list(squeue_json.records(printed))


def test_the_forms_of_numbers_states_and_exit_codes_of_newer_versions_are_read():
    job = {
        "job_id": 7, "name": "key", "comment": "key", "user_id": 0, "nodes": "n1", "state_reason": "NonZeroExitCode",
        "job_state": ["FAILED"], "restart_cnt": 2, "partition": "normal", "qos": "",
        "start_time": {"set": True, "infinite": False, "number": 1795846800},
        "end_time": {"set": False, "infinite": False, "number": 0},
        "exit_code": {
            "status": ["ERROR"], "return_code": {"set": True, "infinite": False, "number": 3},
            "signal": {"id": {"set": False, "infinite": False, "number": 0}, "name": ""},
        },
    }  # fmt: skip
    told = json.dumps({"jobs": [job, {**job, "job_state": ["RUNNING", "COMPLETING"]}], "errors": [], "warnings": []})

    failed, ending = map(status, squeue_json.records(told.encode()))

    assert _told(failed) == (Phase.FAILED, "FAILED", False, 3)
    assert (failed.started_at, failed.ended_at) == (datetime(2026, 11, 28, 6, 20, tzinfo=UTC), None)
    assert ending.phase is Phase.ENDING


def test_only_the_end_of_the_file_of_completions_is_read_and_half_a_line_is_none(tmp_path: Path):
    lines = _COMPLETIONS.read_bytes()
    file = tmp_path / "completions.log"
    file.write_bytes(b"x" * 1000 + b"\n" + lines + lines.splitlines()[0][:80])

    assert completions.ended(file, 100, lambda _: True) == []
    assert len(completions.ended(file, len(lines) + 100, lambda record: record.name == "completed")) == 1
    assert completions.ended(tmp_path / "missing", 100, lambda _: True) == []


def test_a_name_with_a_line_end_in_it_breaks_no_other_line(tmp_path: Path):
    good = _COMPLETIONS.read_text().splitlines()[0]
    file = tmp_path / "completions.log"
    file.write_text(
        f"JobId=9 UserId=eve(1001) GroupId=eve(1001) Name=a\nb JobState=COMPLETED Partition=normal x\n{good}\n"
    )
    assert len(completions.ended(file, _ALL, lambda _: True)) == 1


def _told(status: JobStatus) -> tuple[Phase, str | None, bool | None, int | None]:
    failure = status.failure
    return (
        status.phase, failure.code if failure is not None else None, failure.retryable if failure is not None else None,
        status.exit_code,
    )  # fmt: skip
