"""What is particular to the memory store; what every store must do is in the conformance suite."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tenure.model import fact_types as ft
from tenure.model.decisions.complete import decide_complete
from tenure.model.decisions.expire import decide_expire
from tenure.model.decisions.fail import decide_fail
from tenure.model.decisions.hold import decide_hold
from tenure.model.decisions.unfolding import Context, Unfolding
from tenure.model.errors import AlreadyExists, IdempotencyConflict, NotFound, QueueUnknown, SeqConflict
from tenure.model.fact import Fact
from tenure.model.ordering import order_key
from tenure.model.queue import Queue
from tenure.model.requests import ClaimItems, CompleteExecution, FailExecution, PlaceHold, SubmitSubject
from tenure.model.result import ActionResult
from tenure.model.states import ErrorClass, LeaseStatus, State
from tenure.model.thread import fold
from tenure.model.worker import Worker
from tenure.store.memory import MemoryStore, StandingClock
from tenure.store.operation import Op, run_pure
from tenure.store.port import Store
from tenure.store.records import Claimed, Refused, Submission, Submitted, Target

TOKEN = b"t" * 32


@dataclass
class House:
    """A memory store with one tenant, one queue and a worker, and short names for what tests do."""

    clock: StandingClock = field(default_factory=StandingClock)
    store: MemoryStore = field(init=False)
    tenant: int = field(init=False)
    queue: Queue = field(init=False)
    worker: Worker = field(init=False)

    def __post_init__(self) -> None:
        self.store = MemoryStore(self.clock)
        tenant = run_pure(self.store.tenant("lab", create=True, actor="test"))
        assert tenant is not None
        self.tenant = tenant
        self.template = run_pure(self.store.define_template(tenant, "task/job/1.0", {}, "test")).uid
        self.queue = self.define_queue("q")
        self.worker = self.register("w1", max_concurrent_leases=10)

    def define_queue(self, key: str, **policy: Any) -> Queue:
        uid = run_pure(self.store.fresh_uids(1))[0]
        queue = Queue(queue_key=key, uid=uid, tenant=self.tenant, created_at=self.clock(), **policy)
        run_pure(self.store.write_queue(queue, self.fact(uid, ft.QUEUE_DEFINED), new=True))
        return queue

    def register(self, key: str, **spec: Any) -> Worker:
        uid = run_pure(self.store.fresh_uids(1))[0]
        worker = Worker(worker_key=key, uid=uid, tenant=self.tenant, heartbeat_at=self.clock(), **spec)
        run_pure(self.store.write_worker(worker, self.fact(uid, ft.WORKER_REGISTERED), new=True))
        return worker

    def fact(self, thread: int, fact_type: str) -> Fact:
        fact = Fact(thread=thread, seq=1, type=fact_type, at=self.clock(), tenant=self.tenant, actor="test")
        return replace(fact, hash=fact.content_hash(b""))

    def submit(self, **values: Any) -> int:
        answer = self.answer(**values)
        assert isinstance(answer, ActionResult), answer
        return answer.subject

    def answer(self, **values: Any) -> Submitted:
        request = SubmitSubject(**{"queue_key": "q"} | values)
        return run_pure(self.store.submit(self.tenant, "test", [Submission.of(request, self.template)]))[0]

    def claim(self, worker: Worker | None = None, **values: Any) -> list[Claimed]:
        request = ClaimItems(
            **{"worker": (worker or self.worker).uid, "queue_key": "q", "token_hash": TOKEN, "start": True} | values
        )
        return run_pure(self.store.claim(self.tenant, request, "test", None, past_gate=False))[1]

    def begin(self, target: Target) -> tuple[Unfolding, Context, bytes]:
        loaded = run_pure(self.store.load(self.tenant, [target]))
        unfolding = Unfolding.of(next(iter(loaded.threads.values())), loaded.replays.get(0))
        context = Context(loaded.now, "test", loaded.uids, loaded.queues, loaded.workers)
        return unfolding, context, TOKEN

    def finish(self, lease: int, **values: Any) -> None:
        unfolding, context, token = self.begin(Target((ft.COMPLETED,), lease=lease))
        request = CompleteExecution(lease=lease, worker=self.worker.uid, token_hash=TOKEN, **values)
        decide_complete(unfolding, request, context, token)
        run_pure(self.store.apply([unfolding]))

    def fail(self, lease: int, **values: Any) -> None:
        unfolding, context, token = self.begin(Target((ft.FAILED,), lease=lease))
        request = FailExecution(lease=lease, worker=self.worker.uid, token_hash=TOKEN, **values)
        decide_fail(unfolding, request, context, token)
        run_pure(self.store.apply([unfolding]))

    def hold(self, subject: int) -> None:
        unfolding, context, _ = self.begin(Target((ft.HOLD_PLACED,), subject=subject))
        decide_hold(unfolding, PlaceHold(subject=subject, reason="looks odd"), context)
        run_pure(self.store.apply([unfolding]))

    def sweep(self) -> None:
        for lease in run_pure(self.store.lapsed(self.tenant, None, 100)):
            unfolding, context, _ = self.begin(Target((ft.EXPIRED,), lease=lease))
            decide_expire(unfolding, unfolding.thread.attempts[lease], context)
            run_pure(self.store.apply([unfolding]))

    def state(self, subject: int) -> State:
        return run_pure(self.store.evidence([subject]))[0][0].envelope.state


@pytest.fixture
def house() -> House:
    return House()


def test_memory_store_is_a_store() -> None:
    store: Store = MemoryStore()
    assert run_pure(store.clock()).tzinfo is not None


def test_uids_count_in_twos_from_1024() -> None:
    assert run_pure(MemoryStore().fresh_uids(3)) == [1024, 1026, 1028]


def test_an_operation_runs_when_it_is_driven_and_not_before(house: House) -> None:
    op = house.store.tenant("another", create=True, actor="test")
    assert run_pure(house.store.tenant("another", create=False, actor="test")) is None
    op.close()


# Transactions -------------------------------------------------------------------------------------------------------
def test_a_transaction_that_raises_leaves_nothing_behind(house: House) -> None:
    subject = house.submit()
    before = repr(vars(house.store._data) | {"uids": 0, "_positions": 0})

    def body() -> Op[None]:
        yield from house.store.tenant("gone", create=True, actor="test")
        request = ClaimItems(worker=house.worker.uid, queue_key="q", token_hash=TOKEN)
        taken = yield from house.store.claim(house.tenant, request, "test", None, past_gate=False)
        assert [c.subject for c in taken[1]] == [subject]
        yield from house.store.refuse(house.tenant, [Refused("x", "y", "z", "m")])
        yield from house.store.beat(house.tenant, house.worker.uid, 1, "TRANSIENT_SYSTEM")
        raise RuntimeError("the caller changed its mind")

    with pytest.raises(RuntimeError, match="changed its mind"):
        run_pure(house.store.transaction(body()))
    assert repr(vars(house.store._data) | {"uids": 0, "_positions": 0}) == before


def test_a_savepoint_that_raises_undoes_only_itself(house: House) -> None:
    def inner() -> Op[None]:
        yield from house.store.tenant("inner", create=True, actor="test")
        raise RuntimeError

    def outer() -> Op[None]:
        yield from house.store.tenant("outer", create=True, actor="test")
        with pytest.raises(RuntimeError):
            yield from house.store.transaction(inner())

    run_pure(house.store.transaction(outer()))
    found = [run_pure(house.store.tenant(key, create=False, actor="test")) is not None for key in ("outer", "inner")]
    assert found == [True, False]


def test_threads_that_share_the_store_never_take_the_same_subject(house: House) -> None:
    subjects = {house.submit() for _ in range(60)}
    workers = [house.register(f"t{i}", max_concurrent_leases=100) for i in range(6)]
    taken: list[int] = []

    def work(worker: Worker) -> None:
        while claimed := house.claim(worker, limit=3):
            taken.extend(c.subject for c in claimed)

    threads = [threading.Thread(target=work, args=(w,)) for w in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == sorted(subjects)


# Submitting ---------------------------------------------------------------------------------------------------------
def test_the_same_submission_under_the_same_key_is_answered_from_before(house: House) -> None:
    first = house.answer(idempotency_key="k", priority=3)
    again = house.answer(idempotency_key="k", priority=3)
    assert isinstance(again, ActionResult) and again == first and again.replayed


def test_another_submission_under_the_same_key_is_a_conflict(house: House) -> None:
    house.answer(idempotency_key="k", priority=3)
    assert isinstance(house.answer(idempotency_key="k", priority=4), IdempotencyConflict)


def test_an_external_ref_belongs_to_one_subject(house: House) -> None:
    subject = house.submit(external_ref="tube-7")
    assert isinstance(house.answer(external_ref="tube-7"), AlreadyExists)
    assert run_pure(house.store.find_subject(house.tenant, "tube-7")) == subject


def test_a_submission_to_an_unknown_queue_creates_nothing(house: House) -> None:
    assert isinstance(house.answer(queue_key="nowhere"), QueueUnknown)
    assert run_pure(house.store.subject_count(house.tenant)) == 0


def test_a_submission_with_an_unknown_parent_creates_nothing(house: House) -> None:
    with pytest.raises(NotFound):
        house.answer(parents=(4,))
    assert run_pure(house.store.subject_count(house.tenant)) == 0


# Claims -------------------------------------------------------------------------------------------------------------
def test_a_claim_takes_the_first_in_order_and_no_more_than_the_room_of_the_worker(house: House) -> None:
    late, urgent, early = house.submit(), house.submit(priority=5), house.submit(due_at=house.clock())
    worker = house.register("small", max_concurrent_leases=2)
    assert [c.subject for c in house.claim(worker, limit=9)] == [urgent, early]
    assert late not in [c.subject for c in house.claim(worker, limit=9)]


def test_a_claim_takes_nothing_while_a_lease_of_the_queue_has_lapsed(house: House) -> None:
    house.submit()
    house.claim()
    house.submit()
    house.clock.advance(901)
    request = ClaimItems(worker=house.worker.uid, queue_key="q", token_hash=TOKEN)
    gate, taken = run_pure(house.store.claim(house.tenant, request, "test", None, past_gate=False))
    assert (gate.allowed, gate.lapsed, taken) == (True, True, [])


def test_a_claim_past_the_gate_leaves_what_has_lapsed_alone(house: House) -> None:
    house.submit()
    house.claim()
    fresh = house.submit()
    house.clock.advance(901)
    request = ClaimItems(worker=house.worker.uid, queue_key="q", token_hash=TOKEN, limit=5)
    _, taken = run_pure(house.store.claim(house.tenant, request, "test", None, past_gate=True))
    assert [c.subject for c in taken] == [fresh]


def test_a_former_incarnation_may_not_claim(house: House) -> None:
    house.submit()
    assert house.claim(incarnation=2) == []


def test_a_worker_never_gets_two_slots_of_one_subject(house: House) -> None:
    house.submit(slots=3)
    assert len(house.claim(limit=5)) == 1
    assert house.claim(limit=5) == []


def test_a_claim_can_be_found_again_by_its_key(house: House) -> None:
    house.submit()
    taken = house.claim(idempotency_key="k")
    house.finish(taken[0].lease)
    assert [
        claimed for claimed, _ in run_pure(house.store.claimed_before(house.tenant, house.worker.uid, "k"))
    ] == taken


# Threads ------------------------------------------------------------------------------------------------------------
def test_facts_have_positions_and_chained_hashes(house: House) -> None:
    subject = house.submit()
    house.finish(house.claim()[0].lease)
    facts = run_pure(house.store.facts(subject))
    previous = b""
    for fact in facts:
        assert fact.hash == fact.content_hash(previous)
        previous = fact.hash
    positions = [fact.position for fact in facts]
    assert positions == sorted(set(positions), key=lambda p: p or 0)


def test_the_fold_of_the_facts_is_the_thread(house: House) -> None:
    subject = house.submit()
    house.fail(house.claim()[0].lease)
    thread, facts = run_pure(house.store.evidence([subject]))[0]
    assert fold(facts, "task/job/1.0") == thread


def test_a_decision_on_a_thread_that_has_grown_writes_nothing(house: House) -> None:
    subject = house.submit()
    unfolding, context, _ = house.begin(Target((ft.HOLD_PLACED,), subject=subject))
    house.claim()
    decide_hold(unfolding, PlaceHold(subject=subject, reason="too late"), context)
    with pytest.raises(SeqConflict):
        run_pure(house.store.apply([unfolding]))
    assert house.state(subject) is State.RUNNING


def test_a_lease_action_without_key_is_answered_by_its_lease(house: House) -> None:
    house.submit()
    lease = house.claim()[0].lease
    house.finish(lease)
    unfolding, _, _ = house.begin(Target((ft.COMPLETED, ft.FAILED), lease=lease))
    assert unfolding.replay is not None
    assert unfolding.replay.type == ft.COMPLETED


def test_a_record_names_the_same_attempt_as_its_lease(house: House) -> None:
    subject = house.submit()
    lease = house.claim()[0].lease
    loaded = run_pure(house.store.load(house.tenant, [Target((), lease=lease + 1)]))
    assert loaded.subject_of_lease == {lease: subject}


def test_subjects_of_another_tenant_are_not_loaded(house: House) -> None:
    subject = house.submit()
    other = run_pure(house.store.tenant("other", create=True, actor="test"))
    assert other is not None
    assert not run_pure(house.store.load(other, [Target((), subject=subject)])).threads


# Reading ------------------------------------------------------------------------------------------------------------
def test_items_are_paged_in_execution_order(house: House) -> None:
    subjects = [house.submit(priority=p) for p in (1, 5, 3)]
    first = run_pure(house.store.items(house.tenant, "q", 2))
    rest = run_pure(house.store.items(house.tenant, "q", 2, order_key(first[1].envelope)))
    assert [i.envelope.uid for i in first + rest] == [subjects[1], subjects[2], subjects[0]]


def test_the_sixteen_metrics_are_those_of_the_queue(house: House) -> None:
    # A backlog of: one visible for 1000 s, one held, one leased, one dead letter, one retry pending, one succeeded.
    house.submit(priority=-5)
    held = house.submit()
    house.hold(held)
    house.submit(priority=9, max_attempts=1)
    house.fail(house.claim()[0].lease)
    house.submit(priority=8)
    house.fail(house.claim()[0].lease, retry_after_seconds=5000)
    house.submit(priority=7)
    house.finish(house.claim()[0].lease)
    house.clock.advance(990)
    house.submit(priority=6)
    house.claim()
    house.clock.advance(10)
    run_pure(house.store.beat(house.tenant, house.worker.uid, 1, None))
    house.clock.advance(10)
    refused = Refused("not_claimable", "claim_queue_item", "test", "taken", queue_key="q")
    run_pure(house.store.refuse(house.tenant, [refused, replace(refused, code="idempotent_replay", action="any")]))
    counts = run_pure(house.store.counts(house.tenant, ["q"], 3600))[0]
    assert (counts.queue_depth, counts.held_count, counts.active_leases, counts.dead_letter_count) == (1, 1, 1, 1)
    assert (counts.oldest_job_age_seconds, counts.newest_job_age_seconds) == (1010, 1010)
    assert (counts.retryable_failures_total, counts.terminal_failures_total, counts.expired_leases_total) == (1, 1, 0)
    assert counts.throughput_success_per_minute == pytest.approx(1 / 60)
    assert counts.throughput_failure_per_minute == pytest.approx(2 / 60)
    assert counts.failure_rate == pytest.approx(2 / 3)
    assert (counts.worker_online_count, counts.worker_heartbeat_lag_seconds) == (1, 10)
    assert (counts.claim_conflict_total, counts.idempotent_replay_total) == (1, 1)


def test_a_lapsed_lease_counts_as_depth_before_any_sweep_and_as_expired_after_it(house: House) -> None:
    house.submit()
    house.claim()
    house.clock.advance(901)
    before = run_pure(house.store.counts(house.tenant, ["q"], 60))[0]
    house.sweep()
    after = run_pure(house.store.counts(house.tenant, ["q"], 60))[0]
    assert (before.queue_depth, before.active_leases, before.expired_leases_total) == (1, 0, 0)
    assert (after.queue_depth, after.active_leases, after.expired_leases_total) == (1, 0, 1)


def test_the_depth_of_a_disabled_queue_is_its_backlog(house: House) -> None:
    house.submit()
    disabled = house.queue.model_copy(update={"enabled": False, "seq": 2, "revision": 2})
    fact = replace(house.fact(house.queue.uid, ft.QUEUE_UPDATED), seq=2)
    run_pure(house.store.write_queue(disabled, fact, new=False))
    assert run_pure(house.store.counts(house.tenant, ["q"], 60))[0].queue_depth == 1


def test_the_place_in_the_queue_counts_those_before(house: House) -> None:
    house.submit(priority=5)
    house.submit(priority=4)
    last = house.submit()
    situation = run_pure(house.store.situation(house.tenant, last, 100))
    assert situation is not None
    assert situation.ahead == 2


def test_a_claim_makes_the_seven_edges_of_the_specification(house: House) -> None:
    subject = house.submit()
    lease = house.claim()[0].lease
    edges = {
        (e.parent, e.child, e.relation)
        for uid in (lease, lease + 1)
        for e in run_pure(house.store.lineage(house.tenant, uid))
    }
    assert edges == {
        (subject, lease, "execution_subject_lease"),
        (house.worker.uid, lease, "execution_worker_lease"),
        (house.queue.uid, lease, "execution_queue_lease"),
        (subject, lease + 1, "execution_subject_record"),
        (house.worker.uid, lease + 1, "execution_worker_record"),
        (house.queue.uid, lease + 1, "execution_queue_record"),
        (lease, lease + 1, "execution_lease_record"),
    }


def test_a_dead_letter_shows_the_error_of_the_last_attempt(house: House) -> None:
    house.submit(name="job")
    house.fail(house.claim()[0].lease, error_class=ErrorClass.PERMANENT_INPUT, error_code="E7", error_message="bad")
    row = run_pure(house.store.dead_letters(house.tenant, open_only=True, limit=5))[0]
    assert (row.name, row.error_code, row.error_message) == ("job", "E7", "bad")


def test_leases_are_listed_newest_first_and_by_status(house: House) -> None:
    house.submit()
    house.submit()
    one, two = house.claim()[0].lease, house.claim()[0].lease
    house.finish(one, result={"ok": True})
    everything = run_pure(house.store.leases(house.tenant, None, 10))
    active = run_pure(house.store.leases(house.tenant, LeaseStatus.ACTIVE, 10))
    assert [row.attempt.uid for row in everything] == [two, one]
    assert everything[1].result == {"ok": True}
    assert [row.attempt.uid for row in active] == [two]


def test_history_has_facts_leases_and_refusals_of_the_subject(house: House) -> None:
    subject = house.submit()
    house.claim()
    run_pure(house.store.refuse(house.tenant, [Refused("forbidden", "x", "test", "no", subject=subject)]))
    history = run_pure(house.store.history(house.tenant, subject))
    assert history is not None
    assert [f.type for f in history.facts] == [ft.SUBMITTED, ft.CLAIMED]
    assert (len(history.attempts), [r.refused.code for r in history.refusals]) == (1, ["forbidden"])


@pytest.fixture
def worked(house: House) -> Iterator[House]:
    for _ in range(5):
        house.submit()
    lease = house.claim()[0].lease
    house.clock.advance(1)
    house.finish(lease)
    house.claim()
    house.clock.advance(901)
    house.sweep()
    house.claim()
    yield house


def test_verify_finds_nothing_wrong_after_takeovers(worked: House) -> None:
    assert run_pure(worked.store.overall_divergences(None)) == []


def test_verify_finds_two_leases_that_held_a_slot_at_once(worked: House) -> None:
    lease = run_pure(worked.store.leases(worked.tenant, LeaseStatus.COMPLETED, 1))[0].attempt
    data = worked.store._data
    thread = data.threads[lease.subject]
    twin = replace(lease, uid=2)
    data.threads[lease.subject] = replace(thread, attempts={**thread.attempts, 2: twin})
    assert [d.kind for d in run_pure(worked.store.overall_divergences(None))] == ["overlapping_leases"]


def test_a_sample_of_subjects_is_the_same_every_time(house: House) -> None:
    subjects = [house.submit() for _ in range(50)]
    sample = run_pure(house.store.subjects_after(house.tenant, 0, 100, 0.5))
    assert sample == run_pure(house.store.subjects_after(house.tenant, 0, 100, 0.5))
    assert set(sample) < set(subjects)
    assert run_pure(house.store.subjects_after(house.tenant, 0, 100, None)) == subjects
