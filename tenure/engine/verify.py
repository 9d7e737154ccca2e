"""verify: prove that rows and facts tell the same story, thread by thread, in constant memory (design 01, Verify)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tenure.engine.proof import Chain, subject_divergences
from tenure.model.errors import NotFound
from tenure.store.operation import Op
from tenure.store.port import Store
from tenure.store.records import Divergence

Progress = Callable[[int, int], None]
"""Called with how many subjects were checked, and how many there are, about."""

_BATCH = 200
_PAGE = 1000


@dataclass(slots=True)
class Report:
    """What was checked, how often each kind of divergence was found, and the first of each kind."""

    subjects: int = 0
    facts: int = 0
    attempts: int = 0
    owners: int = 0
    runs: int = 0
    submissions: int = 0
    found: Counter[str] = field(default_factory=Counter)
    first: dict[str, Divergence] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        """True when nothing diverges."""
        return not self.found

    def add(self, divergences: Iterable[Divergence]) -> None:
        """Count divergences and keep the first of each kind."""
        for divergence in divergences:
            self.found[divergence.kind] += 1
            self.first.setdefault(divergence.kind, divergence)


def verify(
    store: Store, *, tenant: int | None = None, subject: int | None = None, sample: float | None = None,
    batch: int = _BATCH, progress: Progress | None = None,
) -> Op[Report]:  # fmt: skip
    """Check one subject; or all (of one tenant, or a share ``sample`` of them), the other threads, and the whole.

    A subject is read at one moment, so it may run beside the work. Queues, workers, principals and tenants have threads too.
    """
    report = Report()
    if subject is not None:
        yield from _one(store, report, tenant, subject)
        return report
    yield from _subjects(store, report, tenant, sample, batch, progress)
    yield from _owners(store, report, tenant)
    report.add((yield from store.overall_divergences(tenant)))
    return report


def _one(store: Store, report: Report, tenant: int | None, subject: int) -> Op[None]:
    evidence = yield from store.evidence([subject])
    if not evidence or tenant not in (None, evidence[0][0].envelope.tenant):
        raise NotFound("There is no such subject.", "Check its EUID; what belongs to another tenant cannot be seen.")
    for thread, facts in evidence:
        report.subjects, report.facts, report.attempts = 1, len(facts), len(thread.attempts)
        report.add(subject_divergences(thread, facts))
    report.add((yield from store.data_divergences([subject])))


def _subjects(
    store: Store, report: Report, tenant: int | None, sample: float | None, batch: int, progress: Progress | None
) -> Op[None]:
    total = round((yield from store.subject_count(tenant)) * (1 if sample is None else sample))
    after = 0
    while uids := (yield from store.subjects_after(tenant, after, batch, sample)):
        for thread, facts in (yield from store.evidence(uids)):
            report.subjects += 1
            report.facts += len(facts)
            report.attempts += len(thread.attempts)
            report.add(subject_divergences(thread, facts))
        report.add((yield from store.data_divergences(uids)))
        after = uids[-1]
        if progress is not None:
            progress(report.subjects, max(total, report.subjects))


def _owners(store: Store, report: Report, tenant: int | None) -> Op[None]:
    after = 0
    while owners := (yield from store.owners_after(tenant, after, _PAGE)):
        for uid, length, head in owners:
            chain = Chain(uid)
            # Facts beyond the length were appended since it was read.
            while chain.seq < length:
                page = yield from store.facts(uid, chain.seq, min(_PAGE, length - chain.seq))
                if not page:
                    break
                chain.extend(fact for fact in page if fact.seq <= length)
                report.facts += len(page)
            report.owners += 1
            report.add(chain.divergences(length, head))
        after = owners[-1][0]
