"""Searching: subjects and items by what operators know of them, without reading more than a bounded number of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenure.model.ordering import OrderKey, order_key
from tenure.model.states import State
from tenure.store.operation import Op, Statement
from tenure.store.postgres import rows
from tenure.store.postgres.order import LATEST, after_params
from tenure.store.postgres.reading import NO_UID_IS_ABOVE
from tenure.store.postgres.sampling import Sampling
from tenure.store.records import Item, ItemFilter, ItemPage, SubjectFilter, SubjectPage, SubjectRow

#: How many rows a page looks through before it says how far it came.
_SCAN = 5_000


class Searching(Sampling):
    """The part of the store port that searches."""

    def live_by_worker(self, tenant: int) -> Op[Mapping[int, int]]:
        """See ``Store.live_by_worker``."""
        return {row["worker"]: row["live"] for row in (yield Statement("live_by_worker", {"tenant": tenant}))}

    def chosen_items(
        self, tenant: int, queue_key: str, chosen: ItemFilter, limit: int, after: OrderKey | None = None
    ) -> Op[ItemPage]:
        """See ``Store.chosen_items``."""
        params = {
            "tenant": tenant, "queue_key": queue_key, "site": chosen.site, "platform": chosen.platform,
            "assay": chosen.assay, "states": _texts(chosen.states), "limit": limit, "scan": max(_SCAN, limit),
        }  # fmt: skip
        found = yield Statement("chosen_items", params | after_params(after))
        items = [
            Item(rows.envelope(row), row["name"], row["external_ref"], row["since"]) for row in found if row["uid"]
        ]
        if len(items) == limit:
            return ItemPage(items, order_key(items[-1].envelope, items[-1].eligible_at))
        return ItemPage(items, _reached(found[0]))

    def find_subjects(
        self, tenant: int, chosen: SubjectFilter, limit: int, before: int | None = None
    ) -> Op[SubjectPage]:
        """See ``Store.find_subjects``."""
        below = before if before is not None else NO_UID_IS_ABOVE
        uids, reached = yield from self._candidates(tenant, chosen, limit, below)
        params = {
            "tenant": tenant, "uids": uids, "states": _texts(chosen.states), "queue_key": chosen.queue_key,
            "name": chosen.name, "external_ref": chosen.external_ref, "correlation_id": chosen.correlation_id,
            "limit": limit,
        }  # fmt: skip
        found = [
            SubjectRow(rows.envelope(row), row["name"], row["external_ref"], row["correlation_id"])
            for row in (yield Statement("subject_rows", params))
        ]
        return SubjectPage(found, found[-1].envelope.uid if len(found) == limit else reached)

    def _candidates(
        self, tenant: int, chosen: SubjectFilter, limit: int, below: int
    ) -> Op[tuple[list[int], int | None]]:
        """Uids among which all that fit are, from the narrowest index; and how far they reach, where there are more."""
        scan = max(_SCAN, limit)
        by = {"tenant": tenant, "before": below, "scan": scan}
        if chosen.uid is not None:
            return [chosen.uid] if chosen.uid < below else [], None
        if chosen.external_ref is not None:
            ref = {"tenant": tenant, "external_ref": chosen.external_ref}
            return [row["uid"] for row in (yield Statement("find_subject", ref)) if row["uid"] < below], None
        if chosen.correlation_id is not None:
            found = yield Statement("subjects_by_correlation", by | {"correlation_id": chosen.correlation_id})
        elif chosen.name is not None:
            found = yield Statement("subjects_by_name", by | {"prefix": chosen.name})
        else:
            among = {"states": _texts(chosen.states), "queue_key": chosen.queue_key, "limit": limit}
            newest = (yield Statement("newest_subjects", by | among))[0]
            return newest["uids"], newest["reached"]
        uids = [row["uid"] for row in found]
        return uids, uids[-1] if len(uids) == scan else None


def _texts(states: Sequence[State] | None) -> list[str] | None:
    return [str(state) for state in states] if states is not None else None


def _reached(row: Mapping[str, Any]) -> OrderKey | None:
    if row["reached_uid"] is None:
        return None
    due = row["reached_due"] if row["reached_due"] is not None else LATEST
    return row["reached_rank"], due, row["reached_since"], row["reached_created"], row["reached_uid"]
