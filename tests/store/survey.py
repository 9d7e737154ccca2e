"""Runs every hot path at every age of a database, with every kind of plan, and keeps the plans for tests to judge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import psycopg

from tenure.model.worker import Worker
from tests.store.actions import Lab
from tests.store.crowd import Crowd, Place, settle
from tests.store.explained import Explained, Ran
from tests.store.hot import ACTS, Act, Scene

#: Ages of the database, in the order in which they come.
EMPTY, ANALYZED_EMPTY, TEN, MILLION, ANALYZED_MILLION = (
    "empty, never analyzed", "analyzed while empty", "ten rows", "a million, never analyzed since", "a million, analyzed",
)  # fmt: skip
#: Kinds of session. The kept one plans at the first chance and keeps its plans while the tables fill.
KEPT, GENERIC, CUSTOM, AUTO, CALLERS = "kept", "generic", "custom", "auto", "a caller's"
_MODES = {
    GENERIC: "force_generic_plan",
    CUSTOM: "force_custom_plan",
    AUTO: "auto",
}
#: As many executions as PostgreSQL plans anew before it considers a generic plan.
_TRIAL = 5
_OTHERS = 100


@dataclass(frozen=True)
class Finding:
    """One statement as it ran."""

    age: str
    session: str
    act: str
    batch: int
    handled: int
    ran: Ran

    def __str__(self) -> str:
        return f"{self.ran.statement} of {self.act} ({self.batch}), {self.session} plans, {self.age}"


class Survey:
    """A database that is born empty, fills, and is analyzed now and then, and all that was found on the way."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self.findings: list[Finding] = []
        self._admin = psycopg.connect(dsn, autocommit=True)
        # Statistics are as old as each age says; and all uids have one width, so that their parameters have one type.
        for table in ("subject", "execution", "attempt", "fact"):
            self._admin.execute(f"alter table tenure.{table} set (autovacuum_enabled = off)")
        self._admin.execute("select setval('tenure.uid', 100000)")
        lab = Lab(dsn)
        lab.connection.execute("reset tenure.now")
        queue, ripe = lab.define("main"), lab.define("ripe")
        keys = ["main", "ripe", *(lab.define(f"other{n}").queue_key for n in range(_OTHERS))]
        holders: list[Worker] = [lab.register(f"holder{n}", max_concurrent_leases=100_000) for n in range(10)]
        for number in range(_OTHERS):
            lab.register(f"other{number}")
        idle = lab.register("idle", max_concurrent_leases=100_000)
        (template,) = lab.sql("select uid from tenure.template where code = 'task/job/1.0'")[0]
        self.scene = Scene(
            lab.caller, "main", "ripe", keys, idle, holders[0], list(range(200_000, 202_000, 2)),
            list(range(300_000, 302_000, 2)),
        )  # fmt: skip
        self._main = Place(lab.tenant, template, queue.uid, "main", tuple(w.uid for w in holders))
        self._ripe = replace(self._main, queue=ripe.uid, queue_key="ripe")
        lab.close()

    def walk(self) -> None:
        """All ages in order."""
        self._look(EMPTY, [AUTO])
        self._analyze()
        kept = Explained(self._dsn, "force_generic_plan")
        try:
            self._act(ANALYZED_EMPTY, KEPT, kept, ACTS)
            self._look(ANALYZED_EMPTY, [GENERIC])
            self._settle(Crowd(waiting=10, deferred=10, live=10, finished=10), Crowd(ripe=10, lapsed=10))
            self._act(TEN, KEPT, kept, ACTS)
            self._look(TEN, [GENERIC, AUTO])
            self._settle(
                Crowd(waiting=1_000_000, deferred=100_000, live=10_000, finished=200_000), Crowd(ripe=2000, lapsed=1000)
            )
            self._act(MILLION, KEPT, kept, ACTS)
            self.kept_plans = kept.prepared()
        finally:
            kept.close()
        self._look(MILLION, [GENERIC, CUSTOM, AUTO])
        self._analyze()
        self._look(ANALYZED_MILLION, [GENERIC, CUSTOM, AUTO])
        self._admin.close()

    def _analyze(self) -> None:
        self._admin.execute("analyze")

    def _settle(self, main: Crowd, ripe: Crowd) -> None:
        settle(self._dsn, self._main, main)
        settle(self._dsn, self._ripe, ripe)
        leases = self._admin.execute(
            "select uid from tenure.attempt where worker = %s and queue = %s and lease_status = 'ACTIVE'"
            " order by uid desc limit 1000",
            [self.scene.holder.uid, self._main.queue],
        )
        self.scene.leases = [uid for (uid,) in leases]
        subjects = self._admin.execute("select uid from tenure.execution where claimable order by uid desc limit 1000")
        self.scene.subjects = [uid for (uid,) in subjects]

    def _look(self, age: str, sessions: Sequence[str]) -> None:
        for kind in sessions:
            session = Explained(self._dsn, _MODES[kind])
            try:
                if kind == AUTO:
                    self._warm(session)
                self._act(age, kind, session, ACTS)
            finally:
                session.close()
        session = Explained(self._dsn, "auto", ours=False)
        try:
            self._act(age, CALLERS, session, [act for act in ACTS if act.name.startswith("submit")])
        finally:
            session.close()

    def _warm(self, session: Explained) -> None:
        for act in ACTS:
            for _ in range(_TRIAL):
                with session.undone():
                    session.run(act.perform(self.scene, 1))

    def _act(self, age: str, kind: str, session: Explained, acts: Iterable[Act]) -> None:
        for act in acts:
            for batch in act.batches:
                with session.undone():
                    handled, ran = session.run(act.perform(self.scene, batch))
                self.findings += [Finding(age, kind, act.name, batch, handled, one) for one in ran]
