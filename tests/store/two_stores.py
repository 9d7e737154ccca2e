"""The moves of a laboratory that is given to two stores at once: three queues, three workers, an operator, a clock.

Each move is a rule of a Hypothesis state machine, which shrinks what it finds, and a step of a seeded random walk, which
goes deeper in the same time. After each move both stores are compared.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any, ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tenure.engine.actions import cancel as cancel_action
from tenure.engine.actions import complete as complete_action
from tenure.engine.actions import submit as submit_action
from tenure.model.requests import CancelSubject, CompleteExecution, SubmitSubject
from tenure.model.result import ActionResult
from tenure.model.states import CLAIMABLE, ErrorClass, Resolution, State, WorkerType
from tenure.model.transitions import NONTERMINAL
from tenure.sdk.token import Token
from tests.store.harness import Bench
from tests.store.side_by_side import Both, SideBySide

M = TypeVar("M", bound=Callable[..., None])

JOB, SPECIMEN = "task/job/1.0", "content/material/specimen/1.0"
QUEUES = ("plain", "narrow", "skilled")
TEMPLATES = ((JOB, SPECIMEN), (JOB,), (SPECIMEN,))
POLICIES: dict[str, dict[str, Any]] = {
    "plain": {
        "lease_ttl_seconds": 60,
        "retry_policy": {"mode": "CONSTANT", "initial_delay_seconds": 30},
        "max_attempts_default": 3,
    },
    "narrow": {
        "lease_ttl_seconds": 60,
        "eligible_states": (State.READY,),
        "site_scope": ("north", "south"),
        "max_attempts_default": 2,
        "retry_policy": {"mode": "LINEAR", "initial_delay_seconds": 5},
    },
    "skilled": {
        "lease_ttl_seconds": 90,
        "required_worker_capabilities": ("skill",),
        "max_attempts_default": 3,
        "retry_policy": {"mode": "EXPONENTIAL_BACKOFF", "initial_delay_seconds": 10, "max_delay_seconds": 35},
    },
}
WORKERS: dict[str, dict[str, Any]] = {
    "service": {"capabilities": ("skill", "other"), "max_concurrent_leases": 4, "site_scope": ("north",)},
    "simple": {"max_concurrent_leases": 3, "heartbeat_ttl_seconds": 120},
    "human": {
        "worker_type": WorkerType.HUMAN_SESSION,
        "max_concurrent_leases": 20,
        "capabilities": ("skill",),
        "site_scope": ("south",),
    },
}
CHANGES: tuple[dict[str, Any], ...] = (
    {"enabled": False}, {"enabled": True}, {"enabled": True}, {"manual_only": True}, {"manual_only": False},
    {"manual_only": False}, {"max_attempts_default": 1}, {"max_attempts_default": 4}, {"site_scope": ["north"]},
    {"site_scope": []}, {"eligible_states": ["FAILED_RETRYABLE"]}, {"eligible_states": ["READY", "FAILED_RETRYABLE"]},
    {"lease_ttl_seconds": 30},
)  # fmt: skip
SECRET = Token("secret")

NUMBER = tuple(range(12))
WHO = ("service", "service", "human", "human", "simple")
BOTH_WAYS = (False, True)
KEY = (None, None, None, None, None, "k1", "k2", "k3")
MOMENT = (None, None, None, -5, 0, 20, 70)

#: Name of a move -> its arguments, each with what it may be.
CHOICES: dict[str, dict[str, Sequence[Any]]] = {}
#: Names of moves, as often as they should be drawn.
WEIGHTED: list[str] = []


def move(often: int = 2, **choices: Iterable[Any]) -> Callable[[M], Any]:
    """Make a method a rule and a step of walks: counted, and followed by a comparison of the two stores."""

    def mark(method: M) -> Any:
        name = method.__name__
        CHOICES[name] = {argument: tuple(values) for argument, values in choices.items()}
        WEIGHTED.extend([name] * often)

        @functools.wraps(method)
        def stepped(self: TwoStores, **drawn: Any) -> None:
            self.pair.begins(name)
            method(self, **drawn)
            self.compare()

        return rule(**{argument: st.sampled_from(values) for argument, values in CHOICES[name].items()})(stepped)

    return mark


class TwoStores(RuleBasedStateMachine):
    """What both stores were told so far, and the moves that may follow."""

    #: Set by the test: makes the two benches of one run.
    benches: Callable[[], tuple[Bench, Bench]]
    #: What came of each move, over all runs of the test.
    answers: ClassVar[Counter[str]] = Counter()
    #: After so many moves the states are compared; answers always are.
    pace = 1

    @initialize()
    def begin(self) -> None:
        self.pair = SideBySide(*type(self).benches(), self.answers)
        self.steps = 0
        self.subjects: list[Both] = []
        self.leases: list[Both] = []
        self.workers: dict[str, list[Both]] = {}
        self.pair.begins("begin")
        for name, policy in POLICIES.items():
            assert self.pair.do("define_queue", name, subject_template_codes=TEMPLATES[0], **policy)
        for name, spec in WORKERS.items():
            registered = self.pair.do("worker", name, **spec)
            assert registered
            self.workers[name] = [registered]
        # Some work is there and some of it is under way, so that no move waits long for its turn.
        for n, into in enumerate((*QUEUES, *QUEUES, "plain", "plain")):
            self._know(self.pair.do("submit", **_request(into, 2 * n)))
        for who, where, start in (("service", "plain", True), ("human", "skilled", False), ("human", "plain", True)):
            self._keep(self.pair.do("claim", self.workers[who][-1], where, limit=2, start=start, token=SECRET))

    def teardown(self) -> None:
        if hasattr(self, "pair"):
            self.pair.compare()
            self.pair.verify()

    def compare(self) -> None:
        """All threads are compared each time; what takes many questions is asked of one in turn, and at the end of all."""
        self.steps += 1
        if self.steps % self.pace:
            return
        count = len(self.subjects)
        self.pair.compare([self.steps * 7 % count])

    def walk(self, seed: int, steps: int) -> None:
        """Random moves; on a failure, the moves that led there are noted in it."""
        random = Random(seed)  # noqa: S311 - a walk that can be repeated, no secret
        told = [f"# seed {seed}", "machine.begin()"]
        self.pace = 2  # what differs stays different, and to compare takes longer than a move
        try:
            self.begin()
            for _ in range(steps):
                name = random.choice(WEIGHTED)
                drawn = {argument: random.choice(values) for argument, values in CHOICES[name].items()}
                told.append(f"machine.{name}({', '.join(f'{k}={v!r}' for k, v in drawn.items())})")
                getattr(self, name)(**drawn)
            self.teardown()
        except BaseException as error:
            error.add_note("\n".join(told[-12:]))
            raise

    # Coming in ----------------------------------------------------------------------------------------------------
    @move(
        often=6, into=(*QUEUES, *QUEUES, *QUEUES, None, "nowhere"), n=NUMBER, ready_in=MOMENT, due_in=MOMENT, key=KEY,
        ready=(True, True, True, True, False), ref=(*[None] * 6, "r1", "r2"),
    )  # fmt: skip
    def submit(
        self, into: str | None, n: int, ready_in: int | None, due_in: int | None, key: str | None, ready: bool, ref: str | None
    ) -> None:  # fmt: skip
        more: dict[str, Any] = {
            "ready_at": self._moment(ready_in), "due_at": self._moment(due_in), "idempotency_key": key, "ready": ready,
            "external_ref": ref,
        }  # fmt: skip
        if n == 11:
            more["parents"] = (self.subjects[0],)
        self._know(self.pair.do("submit", **_request(into, n, **more)))

    @move(first=(*QUEUES, None), second=(*QUEUES, None), third=QUEUES, n=NUMBER, m=NUMBER, key=KEY, again=KEY)
    def submit_some(
        self, first: str | None, second: str | None, third: str, n: int, m: int, key: str | None, again: str | None
    ) -> None:
        drawn = ((first, n, key), (second, m, again), (third, n, again), (first, m, None))
        requests = [SubmitSubject(**_request(into, number, idempotency_key=k)) for into, number, k in drawn]
        outcomes = self.pair.do("many", submit_action.submit_many, requests)
        assert outcomes
        known = {subject.of[0] for subject in self.subjects}
        for outcome in outcomes.parts():
            if isinstance(outcome.of[0], ActionResult) and outcome.of[0].subject not in known:
                self._know(outcome)

    # Work ---------------------------------------------------------------------------------------------------------
    @move(
        often=7, who=WHO, where=QUEUES, limit=(1, 1, 2, 3), start=BOTH_WAYS, ttl=(None, None, 20, 300),
        key=(*[None] * 5, "c1", "c2"), former=(*[False] * 6, True),
    )  # fmt: skip
    def claim(
        self, who: str, where: str, limit: int, start: bool, ttl: int | None, key: str | None, former: bool
    ) -> None:
        self._keep(
            self.pair.do(
                "claim", self.workers[who][0 if former else -1], where, limit=limit, start=start, ttl_seconds=ttl,
                idempotency_key=key, token=SECRET,
            )
        )  # fmt: skip

    @move(
        often=3, who=WHO, n=NUMBER, start=BOTH_WAYS, key=(None, None, None, "c3"),
        state=(None, None, State.READY, State.FAILED_RETRYABLE),
    )  # fmt: skip
    def claim_one(self, who: str, n: int, start: bool, key: str | None, state: State | None) -> None:
        subject = self._subject(n, *CLAIMABLE)
        where = self.pair.benches[0].envelope(subject.of[0]).next_queue_key or "plain"
        self._keep(
            self.pair.do(
                "claim", self.workers[who][-1], where, subject=subject, start=start, idempotency_key=key, token=SECRET,
                expected_state=state,
            )
        )  # fmt: skip

    @move(often=5, n=NUMBER, key=KEY)
    def start(self, n: int, key: str | None) -> None:
        self.pair.do("start", self._lease(n, begun=False), idempotency_key=key)

    @move(n=NUMBER, ttl=(None, 20, 200), key=KEY)
    def renew(self, n: int, ttl: int | None, key: str | None) -> None:
        self.pair.do("renew", self._lease(n), ttl_seconds=ttl, idempotency_key=key)

    @move(n=NUMBER, key=KEY, reason=(None, "not mine"))
    def release(self, n: int, key: str | None, reason: str | None) -> None:
        self.pair.do("release_lease", self._lease(n), idempotency_key=key, reason=reason)

    @move(often=3, n=NUMBER, result=(None, {"ratio": 0.5}, ["x", 1]))
    def complete(self, n: int, result: Any) -> None:
        self.pair.do("complete", self._lease(n, begun=True), result=result)

    @move(often=3, n=NUMBER, where=QUEUES, key=KEY, later=MOMENT, outputs=BOTH_WAYS)
    def complete_and_send_on(self, n: int, where: str, key: str | None, later: int | None, outputs: bool) -> None:
        more: dict[str, Any] = {"outputs": tuple(self.subjects[:2])} if outputs else {}
        self.pair.do(
            "complete", self._lease(n, begun=True), next_queue_key=where, next_action_key="next",
            ready_at=self._moment(later), idempotency_key=key, **more,
        )  # fmt: skip

    @move(first=NUMBER, second=NUMBER)
    def complete_some(self, first: int, second: int) -> None:
        requests = [self._lease(n, begun=True).each(_completion) for n in (first, second)]
        self.pair.do("many", complete_action.complete_many, requests)

    @move(
        often=5, n=NUMBER, error_class=(*ErrorClass, *[ErrorClass.TRANSIENT_SYSTEM] * 5), key=KEY,
        after=(None, None, 0, 15.5), where=(None, None, None, *QUEUES), code=BOTH_WAYS,
    )  # fmt: skip
    def fail(
        self, n: int, error_class: ErrorClass, key: str | None, after: float | None, where: str | None, code: bool
    ) -> None:
        self.pair.do(
            "fail", self._lease(n, begun=True), error_class=error_class, idempotency_key=key, retry_after_seconds=after,
            next_queue_key=where, error_code="E7" if code else None, error_message="the door «jammed»",
        )  # fmt: skip

    @move(n=NUMBER, seconds=(-5, 0, 10, 70), key=KEY)
    def defer(self, n: int, seconds: int, key: str | None) -> None:
        self.pair.do("defer", self._lease(n), until=self._moment(seconds), idempotency_key=key)

    @move(n=NUMBER, deadline=(None, 20, 70, -5), key=KEY)
    def dispatch(self, n: int, deadline: int | None, key: str | None) -> None:
        self.pair.do(
            "dispatch_external",
            self._lease(n),
            external_ref="slurm:7",
            deadline=self._moment(deadline),
            idempotency_key=key,
        )

    @move(often=1, n=NUMBER, what=("start", "renew", "complete", "fail", "release_lease", "dispatch_external"))
    def act_with_a_wrong_token(self, n: int, what: str) -> None:
        lease = self._lease(n)
        holder = lease.each(lambda held: held.item.worker)
        self.pair.do(what, lease.each(lambda held: held.lease), worker=holder, token=Token("guess"))

    # Operating ----------------------------------------------------------------------------------------------------
    @move(n=NUMBER, key=KEY)
    def hold(self, n: int, key: str | None) -> None:
        self.pair.do("hold", self._subject(n, *NONTERMINAL), reason="broken seal", idempotency_key=key)

    @move(often=3, n=NUMBER, key=KEY, named=BOTH_WAYS)
    def release_hold(self, n: int, key: str | None, named: bool) -> None:
        subject = self._subject(n, State.HELD)
        found = [bench.thread(uid).active_holds for bench, uid in zip(self.pair.benches, subject.of, strict=True)]
        which: dict[str, Any] = {"hold": Both((found[0][0].uid, found[1][0].uid))} if named and all(found) else {}
        self.pair.do("release_hold", subject, idempotency_key=key, **which)

    @move(often=3, n=NUMBER, where=(None, *QUEUES), reopen=BOTH_WAYS, key=KEY, later=MOMENT, priority=(None, None, 5))
    def requeue(
        self, n: int, where: str | None, reopen: bool, key: str | None, later: int | None, priority: int | None
    ) -> None:
        self.pair.do(
            "requeue", self._subject(n), queue_key=where, reopen=reopen, idempotency_key=key, ready_at=self._moment(later),
            priority=priority, reason="again",
        )  # fmt: skip

    @move(often=1, n=NUMBER, key=KEY)
    def cancel(self, n: int, key: str | None) -> None:
        self.pair.do("cancel", self._subject(n, *NONTERMINAL), idempotency_key=key, reason="no longer wanted")

    @move(often=1, first=NUMBER, second=NUMBER)
    def cancel_some(self, first: int, second: int) -> None:
        requests = [self._subject(n).each(lambda uid: CancelSubject(subject=uid)) for n in (first, second)]
        self.pair.do("many", cancel_action.cancel_many, requests)

    @move(n=NUMBER, resolution=(Resolution.IGNORED, Resolution.CANCELED, Resolution.REQUEUED), key=KEY)
    def resolve(self, n: int, resolution: Resolution, key: str | None) -> None:
        self.pair.do(
            "resolve_dead_letter", self._subject(n, State.FAILED_TERMINAL), reason="known", resolution=resolution,
            idempotency_key=key,
        )  # fmt: skip

    @move(n=NUMBER, force=BOTH_WAYS, key=KEY)
    def expire(self, n: int, force: bool, key: str | None) -> None:
        lease = self._lease(n).each(lambda held: held.lease)
        self.pair.do("expire_lease", lease, force=force, idempotency_key=key)

    @move(where=(None, *QUEUES))
    def sweep(self, where: str | None) -> None:
        self.pair.do("sweep", where)

    # Workers, queues and time -------------------------------------------------------------------------------------
    @move(who=WHO, what=("drain_worker", "disable_worker", *["enable_worker"] * 4, "retire_worker"))
    def change_worker(self, who: str, what: str) -> None:
        self.pair.do(what, self.workers[who][-1], reason="maintenance")

    @move(often=1, who=WHO)
    def register_again(self, who: str) -> None:
        registered = self.pair.do("worker", who, **WORKERS[who])
        assert registered
        self.workers[who].append(registered)

    @move(who=WHO, former=BOTH_WAYS, error=(None, "OSError"))
    def beat(self, who: str, former: bool, error: str | None) -> None:
        registered = self.workers[who][0 if former else -1]
        self.pair.do(
            "heartbeat_worker", registered, incarnation=registered.each(lambda w: w.incarnation), error_class=error
        )

    @move(where=QUEUES, change=CHANGES)
    def update_queue(self, where: str, change: dict[str, Any]) -> None:
        self.pair.do("update_queue_policy", where, **change)

    @move(often=1, where=QUEUES, again=(None, *TEMPLATES, TEMPLATES[0]))
    def retire_queue(self, where: str, again: tuple[str, ...] | None) -> None:
        self.pair.do("retire_queue", where, reason="replaced")
        if again is not None:
            self.pair.do("define_queue", where, subject_template_codes=again, **POLICIES[where])

    @move(where=QUEUES, templates=(*TEMPLATES, TEMPLATES[0]))
    def define_queue_again(self, where: str, templates: tuple[str, ...]) -> None:
        self.pair.do("define_queue", where, subject_template_codes=templates, **POLICIES[where])

    @move(often=5, seconds=(0.5, 5, 5, 12, 12, 31, 61, 95, 500))
    def wait(self, seconds: float) -> None:
        self.pair.later(seconds)

    # ---------------------------------------------------------------------------------------------------------------
    def _moment(self, seconds: int | None) -> Any:
        return None if seconds is None else self.pair.benches[0].in_seconds(seconds)

    def _know(self, result: Both | None) -> None:
        if result is not None and not result.of[0].replayed:
            self.subjects.append(result.each(lambda r: r.subject))

    def _keep(self, taken: Both | None) -> None:
        known = {lease.of[0].lease for lease in self.leases}
        self.leases += [lease for lease in (taken.parts() if taken else []) if lease.of[0].lease not in known]

    def _subject(self, n: int, *states: State) -> Both:
        """Mostly one in a state where the action has an effect."""
        state_of = self.pair.benches[0].envelope
        fit = [subject for subject in self.subjects if state_of(subject.of[0]).state in states] if n > 1 else []
        return (fit or self.subjects)[n % len(fit or self.subjects)]

    def _lease(self, n: int, begun: bool | None = None) -> Both:
        """Mostly one that is live, and has begun or not."""
        live = {row.attempt.uid: row.attempt.started_at is not None for row in self.pair.benches[0].leases(limit=1000)}
        fit = [held for held in self.leases if held.of[0].lease in live and begun in (None, live[held.of[0].lease])]
        chosen = fit if fit and n > 1 else self.leases
        return chosen[n % len(chosen)]


def _request(into: str | None, n: int, **more: Any) -> dict[str, Any]:
    return {
        "queue_key": into, "priority": n % 3, "template": (JOB, JOB, SPECIMEN)[n % 3], "slots": (1, 1, 1, 2)[n % 4],
        "site": (None, "north", "west", None, "south")[n % 5], "max_attempts": 1 if n == 7 else None,
        "next_action_key": "act" if n % 2 else None, "properties": {"n": n}, **more,
    }  # fmt: skip


def _completion(held: Any) -> CompleteExecution:
    return CompleteExecution(lease=held.lease, worker=held.item.worker, token_hash=held.token.digest, result=1)
