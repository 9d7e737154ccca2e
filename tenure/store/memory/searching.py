"""Searching the memory store by what operators know of subjects."""

from __future__ import annotations

from collections.abc import Mapping

from tenure.model.envelope import Envelope
from tenure.model.ordering import OrderKey
from tenure.model.visibility import eligible_since
from tenure.store.memory.room import operation
from tenure.store.memory.sampling import Sampling
from tenure.store.records import Item, ItemFilter, ItemPage, Subject, SubjectFilter, SubjectPage, SubjectRow


class Searching(Sampling):
    """Every page is as long as it can be: nothing is far from anything here."""

    @operation
    def live_by_worker(self, tenant: int) -> Mapping[int, int]:
        """See ``Store.live_by_worker``."""
        return self._live_by_worker(tenant)

    @operation
    def chosen_items(
        self, tenant: int, queue_key: str, chosen: ItemFilter, limit: int, after: OrderKey | None = None
    ) -> ItemPage:
        """See ``Store.chosen_items``."""
        queue = self._data.active_queue(tenant, queue_key)
        if queue is None:
            return ItemPage([], None)
        now = self._data.clock()
        page = [
            (key, thread)
            for key, thread in self._visible(tenant, queue)
            if (after is None or key > after) and _item_fits(thread.envelope, chosen)
        ][:limit]
        subjects = self._data.subjects
        items = [
            Item(
                t.envelope, subjects[t.envelope.uid].name, subjects[t.envelope.uid].external_ref, eligible_since(t, now)
            )
            for _, t in page
        ]
        return ItemPage(items, page[-1][0] if len(page) == limit else None)

    @operation
    def find_subjects(self, tenant: int, chosen: SubjectFilter, limit: int, before: int | None = None) -> SubjectPage:
        """See ``Store.find_subjects``."""
        found = [
            SubjectRow(thread.envelope, subject.name, subject.external_ref, subject.correlation_id)
            for thread, subject in ((t, self._data.subjects[t.envelope.uid]) for t in self._data.threads_of(tenant))
            if (before is None or subject.uid < before) and _subject_fits(thread.envelope, subject, chosen)
        ]
        page = sorted(found, key=lambda row: -row.envelope.uid)[:limit]
        return SubjectPage(page, page[-1].envelope.uid if len(page) == limit else None)


def _item_fits(envelope: Envelope, chosen: ItemFilter) -> bool:
    return (
        chosen.site in (None, envelope.site)
        and chosen.platform in (None, envelope.platform)
        and chosen.assay in (None, envelope.assay)
        and (chosen.states is None or envelope.state in chosen.states)
    )


def _subject_fits(envelope: Envelope, subject: Subject, chosen: SubjectFilter) -> bool:
    return (
        chosen.uid in (None, subject.uid)
        and chosen.external_ref in (None, subject.external_ref)
        and (chosen.name is None or (subject.name is not None and subject.name.startswith(chosen.name)))
        and chosen.correlation_id in (None, subject.correlation_id)
        and (chosen.states is None or envelope.state in chosen.states)
        and chosen.queue_key in (None, envelope.next_queue_key)
    )
