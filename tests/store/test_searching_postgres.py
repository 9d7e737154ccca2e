"""A search looks at no more rows than it may, says how far it came, and finds everything on the following pages."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.engine.actions.submit import submit_many
from tenure.model.ordering import OrderKey
from tenure.model.requests import SubmitSubject
from tenure.model.states import LeaseStatus, State
from tenure.store.operation import Op
from tenure.store.postgres import searching
from tenure.store.records import ItemFilter, SubjectFilter
from tests.store.actions import Lab
from tests.store.explained import Explained

MANY = 3000


@pytest.fixture
def deep(lab: Lab) -> Lab:
    """3,000 subjects before the queue ``q``; every 1,000th is in the north and has a name."""
    lab.run(
        submit_many(
            lab.caller,
            [
                SubmitSubject(
                    queue_key="q",
                    priority=n % 3,
                    site="north" if n % 1000 == 999 else "south",
                    name=f"{'rare' if n % 1000 == 999 else 'common'}-{n}",
                )
                for n in range(MANY)
            ],
        )
    )
    return lab


def test_short_pages_lead_to_every_item_in_order(deep: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "_SCAN", 400)
    deep.later(100)
    deep.claim(2, ttl_seconds=5)
    deep.later(10)
    visible = [item for item in deep.run(deep.store.items(deep.tenant, "q", 10_000)) if item.envelope.site == "north"]
    found, pages, after = [], 0, None
    while pages == 0 or after is not None:
        page = deep.run(deep.store.chosen_items(deep.tenant, "q", ItemFilter(site="north"), 2, after))
        assert after is None or page.next_after is None or page.next_after > after
        found += page.items
        after = page.next_after
        pages += 1

    assert found == visible
    assert len(visible) == 3
    assert pages > MANY / 400


def test_items_merge_what_lapsed_into_short_pages(deep: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "_SCAN", 400)
    taken = {item.subject for item in deep.claim(900, ttl_seconds=5, start=True)}
    deep.later(10)
    whole = [item.envelope.uid for item in deep.run(deep.store.items(deep.tenant, "q", 10_000))]
    found: list[int] = []
    after: OrderKey | None = None
    for _ in range(100):
        page = deep.run(deep.store.chosen_items(deep.tenant, "q", ItemFilter(), 250, after))
        found += [item.envelope.uid for item in page.items]
        after = page.next_after
        if after is None:
            break

    assert found == whole
    assert len(taken) == 900
    assert taken < set(found)


def test_short_pages_lead_to_every_subject(deep: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "_SCAN", 400)
    canceled = [item.envelope.uid for item in deep.run(deep.store.items(deep.tenant, "q", 5))]
    for uid in canceled:
        deep.cancel(uid)

    def all_of(chosen: SubjectFilter) -> tuple[list[int], int]:
        found: list[int] = []
        before, pages = None, 0
        while pages == 0 or before is not None:
            page = deep.run(deep.store.find_subjects(deep.tenant, chosen, 10, before))
            found += [row.envelope.uid for row in page.subjects]
            before = page.next_before
            pages += 1
        return found, pages

    found, pages = all_of(SubjectFilter(states=[State.CANCELED]))
    assert (sorted(found), pages >= MANY / 400) == (sorted(canceled), True)
    found, pages = all_of(SubjectFilter(name="common", states=[State.CANCELED]))
    assert (sorted(found), pages >= MANY / 400) == (sorted(canceled), True)
    found, pages = all_of(SubjectFilter(name="rare"))
    assert (len(found), pages) == (3, 1)


@pytest.mark.parametrize("analyzed", [False, True])
def test_what_is_rare_is_found_without_reading_what_is_common(
    shared_database: str, analyzed: bool, request: pytest.FixtureRequest
) -> None:
    lab = Lab(shared_database, request.node.name.replace("[", "-").rstrip("]"))
    lab.run(submit_many(lab.caller, [SubmitSubject(queue_key="q", name=f"common-{n}") for n in range(MANY)]))
    rare = lab.submit(name="rare-1", correlation_id="order-7", priority=9)
    lab.release(lab.claim(1)[0])
    for item in lab.claim(900, start=True):
        if item.subject % 20 == 0:
            lab.complete(item)
    if analyzed:
        lab.sql("analyze")
    lab.sql("vacuum tenure.subject")
    watched = Explained(shared_database, "force_generic_plan")

    def rows_read(op: Op[Any]) -> float:
        _, statements = watched.run(op)
        return sum(plan.rows_read() for each in statements for plan in (each.plan, *each.nested))

    store, tenant = lab.store, lab.tenant
    read = {
        "name": rows_read(store.find_subjects(tenant, SubjectFilter(name="rare"), 10)),
        "correlation": rows_read(store.find_subjects(tenant, SubjectFilter(correlation_id="order-7"), 10)),
        "uid": rows_read(store.find_subjects(tenant, SubjectFilter(uid=rare), 10)),
        "released": rows_read(store.leases(tenant, LeaseStatus.RELEASED, 10)),
        "abandoned": rows_read(store.leases(tenant, LeaseStatus.ABANDONED, 10)),
        "expired of a worker": rows_read(store.leases(tenant, LeaseStatus.EXPIRED, 10, worker=lab.worker.uid)),
    }
    watched.close()
    lab.close()
    assert {name: rows for name, rows in read.items() if rows > 10} == {}
