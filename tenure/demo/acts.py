"""The story of the demonstration, act by act. Each act does something and waits until what it shows has happened."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tenure.demo import queues, runs
from tenure.demo.narrator import Narrator
from tenure.demo.published import data_file
from tenure.demo.stage import Stage
from tenure.model import euid
from tenure.model.envelope import Envelope
from tenure.model.errors import NotClaimable
from tenure.model.result import ActionResult
from tenure.model.states import LeaseStatus, State, WorkerStatus
from tenure.model.worker import Worker

WORKERS = ("demo/north", "demo/south")
RTE, DOG, BLUEBIRD, ANAESTHESIA = "rte", "dog", "duck_bluebird", "ds1979_anaesthesia"
#: The dog breeds come last: they must not be done before somebody watches them.
ANALYSES = (RTE, BLUEBIRD, ANAESTHESIA, DOG)
SPECIMENS = {"SP-101": "blood", "SP-102": "saliva", "SP-103": "blood"}
HELD = "SP-102"


@dataclass(slots=True)
class Cast:
    """The subjects by name, and what the acts learned on the way."""

    subjects: dict[str, int] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)
    killed: str = ""
    killed_lease: int = 0
    killed_status: int = 0
    claim_refused: bool = False
    exits: dict[str, int] = field(default_factory=dict)


class Play:
    """All acts in order."""

    def __init__(self, stage: Stage, narrator: Narrator) -> None:
        self._stage = stage
        self._client = stage.client
        self._narrator = narrator
        self.cast = Cast()

    def run(self) -> Cast:
        """Play it to the end."""
        self._workers_come()
        self._work_comes()
        self._kill()
        self._upload_ends()
        self._stop_the_line()
        self._a_person_works()
        self._repair()
        self._workflows()
        self._what_waits()
        self._the_end()
        return self.cast

    def _workers_come(self) -> None:
        self._narrator.act("1. Two workers, each a process of its own, and the queues of a laboratory")
        queues.define(self._client)
        for key in WORKERS:
            pid = self._stage.crew.start(key)
            self._narrator.say(f"worker {key} starts, process {pid}")
        self._narrator.until("both workers are online", lambda: self._online() >= set(WORKERS))

    def _work_comes(self) -> None:
        self._narrator.act(
            "2. Work comes in: three specimens, four data sets to analyse",
            "Of one data set the upload is not complete, another one was damaged on its way.",
        )
        for specimen, tissue in SPECIMENS.items():
            request = self._submit(
                specimen, template=queues.SPECIMEN, queue_key=queues.EXTRACTION, next_action_key="create_extraction",
                properties={"specimen": specimen, "tissue": tissue},
            )  # fmt: skip
            self._narrator.say(f"{specimen:<22}  {_name(request)} in {queues.EXTRACTION}")
        for dataset in ANALYSES:
            self._arrive(dataset)
            request = self._submit(
                dataset, template=queues.REQUEST, queue_key=queues.DISPATCH, next_action_key="analysis.run", max_attempts=20,
                properties={"dataset": dataset, "source": str(self._source(dataset))},
            )  # fmt: skip
            self._narrator.say(f"{dataset:<22}  {_name(request)} in {queues.DISPATCH}")

    def _kill(self) -> None:
        self._narrator.act(
            "3. The worker that analyses dog breeds is killed in the middle of it (SIGKILL)",
            f"It cannot say a word. Its lease runs out after {queues.LEASE_SECONDS} s; then another worker takes the work over.",
        )
        dog = self.cast.subjects[DOG]
        # As soon as it has begun: a worker does one thing at a time, and this is over in a second or two.
        self._narrator.until("a worker analyses the dog breeds", lambda: self._begun(dog))
        attempt = self._client.inspect(dog).situation.thread.live_attempts[0]
        keys = {worker.uid: worker.worker_key for worker in self._client.workers()}
        self.cast.killed, self.cast.killed_lease = keys[attempt.worker or 0], attempt.uid
        self.cast.killed_status = self._stage.crew.kill(self.cast.killed)
        self._narrator.say(
            f"{self.cast.killed} is killed while it holds {euid.format_euid(euid.LEASE, attempt.uid)}", "red"
        )
        self._narrator.until(
            "the killed worker's lease is EXPIRED", lambda: self._ended(attempt.uid) is LeaseStatus.EXPIRED
        )

    def _upload_ends(self) -> None:
        self._narrator.act("4. An upload that is not complete: the attempt fails for now and is made again")
        bluebird = self.cast.subjects[BLUEBIRD]
        self._narrator.until("the first attempt has failed", lambda: self._envelope(bluebird).attempt_count > 0)
        part = self._source(BLUEBIRD).with_suffix(".csv.part")
        part.write_text(data_file(f"{BLUEBIRD}.csv"), encoding="utf-8")
        part.rename(self._source(BLUEBIRD))
        self._narrator.say("the upload of duck_bluebird.csv is complete now")

    def _stop_the_line(self) -> None:
        self._narrator.act(f"5. An operator stops the line for specimen {HELD}")
        subjects = [self.cast.subjects[name] for name in SPECIMENS]
        self._narrator.until(
            "all specimens wait for a person",
            lambda: all(self._envelope(s).next_queue_key == queues.POST_EXTRACT_QC for s in subjects),
        )
        self._client.hold(self.cast.subjects[HELD], reason="the label is smudged")
        self._narrator.catch_up()

    def _a_person_works(self) -> None:
        self._narrator.act(
            f"6. A person does the QC: {queues.POST_EXTRACT_QC} is for people only",
            "She claims each specimen by its label. The one on hold is refused to her, too, until it is released.",
        )
        ada = self._stage.technician.register_worker(
            "demo/ada",
            worker_type="HUMAN_SESSION",
            display_name="Ada at the bench",
            max_concurrent_leases=2,
            heartbeat_ttl_seconds=3600,
        )
        for specimen in SPECIMENS:
            if specimen == HELD:
                self._refused(ada, specimen)
                self._client.release_hold(self.cast.subjects[HELD], reason="compared: the label is right")
                self._narrator.catch_up()
            self._quality(ada, specimen)
        subjects = [self.cast.subjects[name] for name in SPECIMENS]
        self._narrator.until(
            "all specimens are in a run", lambda: all(self._state(s) is State.COMPLETED for s in subjects)
        )

    def _refused(self, ada: Worker, specimen: str) -> None:
        try:
            self._stage.technician.claim(ada, queues.POST_EXTRACT_QC, subject=self.cast.subjects[specimen], start=True)
        except NotClaimable as error:
            self.cast.claim_refused = True
            self._narrator.say(f"{specimen:<22}  refused to Ada ({error.code}): {error.message}", "yellow")

    def _quality(self, ada: Worker, specimen: str) -> None:
        [lease] = self._stage.technician.claim(
            ada, queues.POST_EXTRACT_QC, subject=self.cast.subjects[specimen], start=True
        )
        self._stage.technician.complete(
            lease, result={"state": "qc_passed", "decision": "pass"}, next_queue_key=queues.LIBRARY_PREP,
            next_action_key="create_library_prep",
        )  # fmt: skip
        self._narrator.catch_up()

    def _repair(self) -> None:
        self._narrator.act(
            "7. A damaged file: no attempt can help, so it is a dead letter until somebody decides",
            "The operator looks at the error, gets a good copy and requeues the subject.",
        )
        damaged = self.cast.subjects[ANAESTHESIA]
        self._narrator.until("the damaged file is a dead letter", lambda: self._state(damaged) is State.FAILED_TERMINAL)
        letter = next(row for row in self._client.dead_letters() if row.letter.subject == damaged)
        self._narrator.say(f"the dead letter says: {letter.error_message}", "yellow")
        self._source(ANAESTHESIA).write_text(data_file(f"{ANAESTHESIA}.csv"), encoding="utf-8")
        self._client.requeue(damaged, reason="a good copy of the file is there now", reopen=True)
        analyses = [self.cast.subjects[name] for name in ANALYSES]
        self._narrator.until("all analyses are done", lambda: all(self._state(s) is State.COMPLETED for s in analyses))

    def _workflows(self) -> None:
        self.cast.runs = runs.start_orders(self._stage, self._narrator)
        runs.decide_orders(self._stage, self._narrator, self.cast.runs)
        self.cast.runs[runs.SURVEY] = runs.take_survey(self._stage, self._narrator, ANALYSES)
        for uid, name in self._narrator.run_names.items():
            self.cast.runs.setdefault(name, uid)

    def _what_waits(self) -> None:
        self._narrator.act("10. Two requests that wait, each for a reason of its own")
        later = datetime.now(UTC) + timedelta(hours=8)
        self._submit(
            "dog, tonight", template=queues.REQUEST, queue_key=queues.DISPATCH, next_action_key="analysis.run", ready_at=later,
            properties={"dataset": DOG, "source": str(self._source(DOG))},
        )  # fmt: skip
        self._submit(
            "dog, on a GPU", template=queues.REQUEST, queue_key=queues.GPU_ANALYSIS, next_action_key="analysis.run",
            properties={"dataset": DOG, "source": str(self._source(DOG))},
        )  # fmt: skip
        for name in ("dog, tonight", "dog, on a GPU"):
            reasons = [reason.code for reason in self._client.why(self.cast.subjects[name]) if reason.blocking]
            self._narrator.say(f"{name:<22}  waits: {', '.join(reasons)}")

    def _the_end(self) -> None:
        # An artifact's intake may still be under way: its check is as much a part of the promise as the rest.
        artifacts = [uid for uid, name in self._narrator.names.items() if name.startswith("artifact")]
        self._narrator.until(
            "all artifacts are taken in", lambda: all(self._state(a) is State.COMPLETED for a in artifacts)
        )
        self.cast.exits = self._stage.crew.stop()
        for uid, name in self._narrator.names.items():
            self.cast.subjects.setdefault(name, uid)

    # What the acts look at and do ------------------------------------------------------------------------------------
    def _submit(self, name: str, **fields: Any) -> ActionResult:
        result = self._client.submit(name=name, external_ref=name.replace(", ", "-").replace(" ", "-"), **fields)
        self.cast.subjects[name] = self._narrator.follow(result.subject, name)
        return result

    def _arrive(self, dataset: str) -> None:
        text = data_file(f"{dataset}.csv")
        if dataset == BLUEBIRD:
            self._source(dataset).with_suffix(".csv.part").write_text(text[: len(text) // 2], encoding="utf-8")
        elif dataset == ANAESTHESIA:
            self._source(dataset).write_text(text[: len(text) * 2 // 3].rpartition(",")[0], encoding="utf-8")
        else:
            self._source(dataset).write_text(text, encoding="utf-8")

    def _source(self, dataset: str) -> Path:
        return self._stage.uploads / f"{dataset}.csv"

    def _online(self) -> set[str]:
        return {w.worker_key for w in self._client.workers() if w.status is WorkerStatus.ONLINE}

    def _envelope(self, subject: int) -> Envelope:
        return self._client.inspect(subject).situation.thread.envelope

    def _state(self, subject: int) -> State:
        return self._envelope(subject).state

    def _begun(self, subject: int) -> bool:
        live = self._client.inspect(subject).situation.thread.live_attempts
        return bool(live) and live[0].started_at is not None

    def _ended(self, lease: int) -> LeaseStatus | None:
        return self._client.history(self.cast.subjects[DOG]).thread.attempts[lease].lease_status


def _name(result: ActionResult) -> str:
    return euid.format_euid(euid.SUBJECT, result.subject)
