"""What the demonstration promises, checked in the database after it: it fails where one of them was not kept."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tenure.demo import artifacts, queues, run_promises
from tenure.demo.acts import ANAESTHESIA, ANALYSES, BLUEBIRD, DOG, HELD, SPECIMENS, Cast
from tenure.engine.verify import Report
from tenure.model.attempt import Attempt
from tenure.model.states import HoldStatus, RecordStatus, Resolution, State
from tenure.sdk.client import Tenure


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise, and whether it was kept."""

    text: str
    kept: bool


def promises(client: Tenure, cast: Cast, report: Report, shop: Path) -> list[Promise]:
    """All of them."""
    return [Promise(text, bool(kept)) for text, kept in _checked(client, cast, report, shop)]


def _checked(client: Tenure, cast: Cast, report: Report, shop: Path) -> Iterator[tuple[str, object]]:
    threads = {name: client.history(uid).thread for name, uid in cast.subjects.items()}
    attempts = {name: sorted(t.attempts.values(), key=lambda a: a.uid) for name, t in threads.items()}

    yield "every analysis is COMPLETED, dispatched and checked exactly once", all(
        threads[name].envelope.state is State.COMPLETED
        and _succeeded(attempts[name]) == [queues.DISPATCH, queues.ANALYSIS_QC]
        for name in ANALYSES
    )  # fmt: skip
    yield (
        "every analysis agrees with what was published, within the tolerance",
        all(_verdicts(client, cast.subjects[name]) == [True] for name in ANALYSES),
    )
    yield (
        "every analysis has exactly one artifact, and its file is what was registered",
        all(_artifacts_are_whole(client, [uid for _, uid in threads[name].outputs]) for name in ANALYSES),
    )
    lost = threads[DOG].attempts[cast.killed_lease]
    workers = {worker.uid: worker.worker_key for worker in client.workers()}
    takers = {workers.get(a.worker or 0) for a in attempts[DOG] if a.uid > lost.uid and a.queue_key == queues.DISPATCH}
    yield (
        f"{cast.killed} was killed by SIGKILL, and its attempt is recorded as EXPIRED",
        (cast.killed_status == -signal.SIGKILL and lost.record_status is RecordStatus.EXPIRED),
    )
    yield "the other worker took its work over", bool(takers) and cast.killed not in takers
    letters = list(threads[ANAESTHESIA].dead_letters.values())
    yield (
        "the damaged file was one dead letter, and the operator requeued it",
        (
            len(letters) == 1
            and letters[0].resolution_state is Resolution.REQUEUED
            and letters[0].resolved_by == client.settings.actor
        ),
    )
    yield (
        "the incomplete upload failed for now, and a later attempt succeeded",
        (
            RecordStatus.FAILED_RETRYABLE in [a.record_status for a in attempts[BLUEBIRD]]
            and not threads[BLUEBIRD].dead_letters
        ),
    )
    yield (
        "every specimen went through the five queues of the wet lab in order, each once",
        all(_succeeded(attempts[name]) == list(queues.WET_LAB) for name in SPECIMENS),
    )
    holds = [h.status for h in threads[HELD].holds.values()]
    yield (
        f"{HELD} was on hold, could not be claimed meanwhile, and was released",
        holds == [HoldStatus.RELEASED] and cast.claim_refused,
    )
    yield (
        "the QC of the specimens was done by a person",
        all(
            workers.get(a.worker or 0) == "demo/ada"
            for name in SPECIMENS
            for a in attempts[name]
            if a.queue_key == queues.POST_EXTRACT_QC
        ),
    )
    yield (
        "what waits says why: it is not yet due, nobody has a GPU",
        (
            _blocking(client, cast.subjects["dog, tonight"]) == ["not_yet_due"]
            and _blocking(client, cast.subjects["dog, on a GPU"]) in (["capability_mismatch"], ["no_worker_online"])
        ),
    )
    yield from run_promises.checked(client, cast.runs, shop)
    yield "the worker that was not killed stopped by itself when asked to", set(cast.exits.values()) == {0}
    yield (
        "rows and facts tell the same story, those of runs too (verify)",
        report.clean and report.runs >= len(cast.runs),
    )


def _succeeded(attempts: list[Attempt]) -> list[str | None]:
    return [a.queue_key for a in attempts if a.record_status is RecordStatus.SUCCEEDED]


def _blocking(client: Tenure, subject: int) -> list[str]:
    return [reason.code for reason in client.why(subject) if reason.blocking]


def _verdicts(client: Tenure, subject: int) -> list[bool]:
    results = [row.result for row in client.history(subject).attempts]
    return [bool(result["within"]) for result in results if isinstance(result, dict) and "within" in result]


def _artifacts_are_whole(client: Tenure, uids: list[int]) -> bool:
    kept = [client.inspect(uid).subject.properties for uid in uids]
    return len(kept) == 1 and all(artifacts.read(each["path"], each["sha256"]) is not None for each in kept)
