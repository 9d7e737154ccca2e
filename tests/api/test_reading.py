"""The read routes of S1 section 9.2, and those beyond them."""

from __future__ import annotations

import pytest

from tenure.model import euid
from tests.api.conftest import Site
from tests.api.documented import Documented


def test_queues_are_listed_the_most_urgent_first_with_their_numbers(site: Site) -> None:
    site.trusted.define_queue("urgent", dispatch_priority=200)
    site.admin.submit("urgent")

    listed = site.as_("observer").get("/queues")["items"]

    assert [(q["queue_key"], q["metrics"]["queue_depth"]) for q in listed] == [("urgent", 1), ("q", 0)]


def test_a_queue_shows_its_configuration_and_its_numbers(site: Site) -> None:
    site.admin.submit()

    shown = site.admin.get("/queues/q")

    assert (shown["queue"]["queue_key"], shown["queue"]["lease_ttl_seconds"]) == ("q", 900)
    assert shown["metrics"]["queue_depth"] == 1


def test_a_queue_whose_key_has_slashes_is_found(site: Site) -> None:
    site.trusted.define_queue("lab/extraction/prod")
    subject = site.admin.submit("lab/extraction/prod")

    assert site.admin.get("/queues/lab%2Fextraction%2Fprod")["queue"]["queue_key"] == "lab/extraction/prod"
    items = site.admin.get("/queues/lab/extraction/prod/items")["items"]
    assert [item["envelope"]["euid"] for item in items] == [subject]


def test_items_come_in_execution_order(site: Site) -> None:
    low, high = site.admin.submit(priority=1), site.admin.submit(priority=9)

    items = site.admin.get("/queues/q/items")["items"]

    assert [item["envelope"]["euid"] for item in items] == [high, low]


def test_a_subject_is_shown_with_everything_that_stops_it(site: Site) -> None:
    subject = site.admin.submit(name="MX-1", properties={"volume": 5})
    site.admin.act("hold", subject_euid=subject, reason="broken seal")

    shown = site.admin.get(f"/subjects/{subject}")

    assert (shown["subject"]["name"], shown["subject"]["properties"]) == ("MX-1", {"volume": 5})
    assert (shown["execution"]["state"], shown["visible"]) == ("HELD", False)
    assert [hold["reason"] for hold in shown["holds"]] == ["broken seal"]
    assert "hold_active" in [reason["code"] for reason in shown["reasons"]]
    assert site.admin.get(f"/subjects/{subject}/why")["reasons"] == shown["reasons"]


def finished(site: Site) -> tuple[str, dict[str, str]]:
    subject = site.admin.submit()
    worker = site.worker.register()
    [lease] = site.worker.claim(worker, start=True)
    site.worker.act("complete", **site.worker.holder(lease), result={"yield": 5})
    return subject, lease


def test_a_history_tells_records_leases_and_facts_in_order(site: Site) -> None:
    subject, lease = finished(site)

    told = site.admin.get(f"/subjects/{subject}/history")

    assert [fact["type"] for fact in told["facts"]] == ["subject.submitted", "lease.claimed", "execution.completed"]
    assert [(row["attempt"]["euid"], row["result"]) for row in told["attempts"]] == [(lease["lease"], {"yield": 5})]


def test_a_subject_is_shown_as_it_was(site: Site) -> None:
    subject, _ = finished(site)

    assert site.admin.get(f"/subjects/{subject}/as-of", seq=1)["envelope"]["state"] == "READY"
    assert site.admin.get(f"/subjects/{subject}/as-of", seq=2)["envelope"]["state"] == "RUNNING"
    now = site.admin.get(f"/subjects/{subject}")["at"]
    assert site.admin.get(f"/subjects/{subject}/as-of", at=now)["envelope"]["state"] == "COMPLETED"


@pytest.mark.parametrize("params", [{}, {"seq": 1, "at": "2026-01-01T00:00:00Z"}, {"at": "2026-01-01T00:00:00"}])
def test_as_of_needs_one_point_in_time(site: Site, params: dict[str, str]) -> None:
    subject = site.admin.submit()

    response = site.admin.request("GET", f"/subjects/{subject}/as-of", params=params)

    assert response.status_code == 400


def test_lineage_leads_from_a_subject_to_its_lease_and_record_and_on(site: Site) -> None:
    subject, lease = finished(site)

    edges = site.admin.get(f"/subjects/{subject}/lineage")["edges"]
    of_lease = site.admin.get(f"/subjects/{lease['lease']}/lineage")["edges"]

    assert {(e["child"], e["relation"]) for e in edges} >= {(lease["lease"], "execution_subject_lease")}
    assert {e["relation"] for e in of_lease} >= {"execution_worker_lease", "execution_queue_lease"}


def test_leases_are_listed_by_status_queue_and_worker(site: Site) -> None:
    _, done = finished(site)
    site.admin.submit()
    worker = site.worker.register("other")
    [live] = site.worker.claim(worker)

    def listed(**filters: str) -> list[str]:
        return [row["attempt"]["euid"] for row in site.admin.get("/leases", **filters)["items"]]

    assert listed() == [live["lease"], done["lease"]]
    assert listed(status="ACTIVE") == [live["lease"]]
    assert listed(status="COMPLETED") == [done["lease"]]
    assert listed(worker_euid=done["worker"]) == [done["lease"]]
    assert listed(queue_key="elsewhere") == []


def test_dead_letters_and_holds_are_listed_until_they_are_dealt_with(site: Site) -> None:
    subject = site.admin.submit()
    worker = site.worker.register()
    [lease] = site.worker.claim(worker, start=True)
    site.worker.act("fail", **site.worker.holder(lease), error_class="PERMANENT_INPUT", error_message="no barcode")
    held = site.admin.submit()
    site.admin.act("hold", subject_euid=held, reason="broken seal")

    letters, holds = site.admin.get("/dead-letter")["items"], site.admin.get("/holds")["items"]
    site.admin.act("resolve-dead-letter", subject_euid=subject, reason="sent again")
    site.admin.act("release-hold", subject_euid=held)

    assert [(row["letter"]["subject"], row["error_message"]) for row in letters] == [(subject, "no barcode")]
    assert [row["hold"]["subject"] for row in holds] == [held]
    assert site.admin.get("/dead-letter")["items"] == site.admin.get("/holds")["items"] == []
    assert len(site.admin.get("/dead-letter", open_only=False)["items"]) == 1
    assert len(site.admin.get("/holds", active_only=False)["items"]) == 1


def test_a_worker_shows_the_queues_that_it_named_and_is_counted_for_these_alone(site: Site) -> None:
    site.admin.act("define-queue", policy={"queue_key": "other"})
    worker = site.worker.register(queues=["other"])
    subject = site.admin.submit()
    assert site.admin.get(f"/workers/{worker['euid']}")["queues"] == ["other"]
    reasons = {r["code"]: r for r in site.admin.get(f"/subjects/{subject}/why")["reasons"]}
    assert [w["queues"] for w in reasons["no_worker_online"]["evidence"]["elsewhere"]] == ["other"]
    site.worker.register("anywhere")
    assert site.admin.get(f"/subjects/{subject}")["visible"] is True


def test_workers_show_what_their_heartbeat_says(site: Site) -> None:
    worker = site.worker.register(heartbeat_ttl_seconds=10)
    assert site.admin.get(f"/workers/{worker['euid']}")["effective_status"] == "ONLINE"

    site.server.settings.clock.advance(seconds=11)

    assert site.admin.get(f"/workers/{worker['euid']}")["effective_status"] == "OFFLINE"
    assert [w["worker_key"] for w in site.admin.get("/workers")["items"]] == ["w"]


def test_templates_are_listed_with_their_schemas(site: Site) -> None:
    site.admin.act("define-template", code="lab/tube/1.0", properties_schema={"required": ["barcode"]})

    listed = {t["code"]: t["properties_schema"] for t in site.admin.get("/templates")["items"]}

    assert listed["lab/tube/1.0"] == {"required": ["barcode"]}
    assert listed["task/job/1.0"] == {}


def all_pages(client: Documented, path: str, **params: object) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    page = client.get(path, **params)
    while True:
        found += page["items"]
        if page["next"] is None:
            return found
        page = client.get(path, **params, cursor=page["next"])


@pytest.mark.parametrize(
    "path", ["/queues/q/items", "/leases", "/holds", "/dead-letter", "/workers", "/templates", "/queues", "/facts"]
)
def test_every_list_is_read_to_its_end_in_pages_while_it_grows(site: Site, path: str) -> None:
    def grow(number: int) -> None:
        for _ in range(number):
            site.trusted.submit(queue_key="q")
        [held] = [site.trusted.submit(queue_key="q")]
        site.trusted.hold(held, reason="broken")
        worker = site.trusted.register_worker(f"w{next(counter)}", max_concurrent_leases=10)
        for lease in site.trusted.claim(worker, "q", limit=2, start=True):
            site.trusted.fail(lease, error_class="PERMANENT_INPUT")
        site.trusted.define_template(f"t{next(counter)}")
        site.trusted.define_queue(f"q{next(counter)}")

    counter = iter(range(1000))
    for _ in range(5):
        grow(4)
    before = all_pages(site.admin, path)

    found, cursor, pages = [], None, 0
    while True:
        page = site.admin.get(path, limit=3, cursor=cursor)
        found += page["items"]
        pages += 1
        if pages == 2:
            grow(1)
        if (cursor := page["next"]) is None:
            break

    def keys(rows: list[dict[str, object]]) -> list[str]:
        return [str(_identity(row)) for row in rows]

    assert pages > 1
    assert len(set(keys(found))) == len(found)  # nothing twice
    taken_since = set(keys(before)) - set(keys(all_pages(site.admin, path)))
    assert set(keys(before)) - taken_since <= set(keys(found))  # nothing that stayed is missing


def _identity(row: dict) -> object:  # type: ignore[type-arg]
    for name in ("envelope", "attempt", "hold", "letter"):
        if name in row:
            return row[name]["euid"]
    return row.get("position") or row.get("euid")


@pytest.mark.parametrize(
    "change",
    [lambda c: c[:-2] + ("AA" if c[-2:] != "AA" else "BB"), lambda c: c + "AAAA", lambda c: "x", lambda c: "é"],
)
def test_a_cursor_that_was_tampered_with_is_refused(site: Site, change) -> None:
    for _ in range(3):
        site.admin.submit()
    cursor = site.admin.get("/queues/q/items", limit=1)["next"]

    response = site.admin.request("GET", "/queues/q/items", params={"limit": 1, "cursor": change(cursor)})

    assert (response.status_code, response.json()["code"]) == (400, "invalid_request")


def test_a_cursor_of_another_list_is_refused(site: Site) -> None:
    for _ in range(3):
        site.admin.submit()
    cursor = site.admin.get("/queues/q/items", limit=1)["next"]

    response = site.admin.request("GET", "/leases", params={"cursor": cursor})

    assert (response.status_code, response.json()["code"]) == (400, "invalid_request")


READS = [
    "/queues", "/queues/q", "/queues/q/items", "/subjects/{s}", "/subjects/{s}/history", "/subjects/{s}/why",
    "/subjects/{s}/as-of?seq=1", "/subjects/{s}/lineage", "/subjects/{s}/facts", "/workers", "/workers/{w}", "/leases",
    "/dead-letter", "/holds", "/templates", "/facts",
]  # fmt: skip


def test_reads_change_nothing(site: Site) -> None:
    subject, lease = finished(site)
    before = site.trusted.perform(_everything)

    for path in READS:
        site.admin.get(path.format(s=subject, w=lease["worker"]))

    assert site.trusted.perform(_everything) == before


def _everything(caller):
    position = yield from caller.store.ledger_written()
    facts = yield from caller.store.ledger_after(caller.tenant, 0, position, 10_000)
    counts = yield from caller.store.counts(caller.tenant, ["q"], 300)
    return [(f.thread, f.seq, f.hash) for f in facts], counts


def test_what_belongs_to_another_tenant_looks_as_if_it_were_nowhere(site: Site, server) -> None:
    subject, lease = finished(site)
    stranger = Site(server, "stranger")
    stranger.trusted.define_queue("elsewhere")
    nowhere = euid.format_euid("SX", 2**50)
    try:
        for path in (
            "/subjects/{s}",
            "/subjects/{s}/history",
            "/subjects/{s}/why",
            "/subjects/{s}/facts",
            "/workers/{w}",
            "/queues/q",
        ):
            theirs = stranger.admin.request("GET", path.format(s=subject, w=lease["worker"]))
            missing = stranger.admin.request("GET", path.format(s=nowhere, w=nowhere))
            assert theirs.status_code == missing.status_code == 404
            assert theirs.json() == missing.json()
        assert stranger.admin.get(f"/subjects/{subject}/lineage") == {"edges": []}
        assert stranger.admin.get("/leases")["items"] == []
    finally:
        stranger.close()


def test_subjects_are_found_by_reference_name_correlation_queue_and_state(site: Site) -> None:
    site.trusted.define_queue("other")
    one = site.admin.submit(external_ref="LIMS-1", name="MX-1", correlation_id="run-7")
    two = site.admin.submit("other", name="MX-2", correlation_id="run-7")
    site.admin.act("cancel", subject_euid=two)

    def found(**filters: object) -> list[str]:
        return [str(row["envelope"]["euid"]) for row in all_pages(site.admin, "/subjects", **filters)]

    assert found() == [two, one]
    assert found(external_ref="LIMS-1") == [one]
    assert found(external_ref="LIMS") == []
    assert found(name="MX-") == [two, one]
    assert found(correlation_id="run-7", queue_key="q") == [one]
    assert found(state=["CANCELED", "HELD"]) == [two]


def test_a_search_goes_on_where_its_page_ended(site: Site) -> None:
    subjects = [site.admin.submit(name=f"S{n}") for n in range(7)]

    assert [row["envelope"]["euid"] for row in all_pages(site.admin, "/subjects", limit=2)] == subjects[::-1]


def test_items_are_chosen_by_site_platform_assay_and_state(site: Site) -> None:
    north = site.admin.submit(site="north", platform="illumina")
    site.admin.submit(site="south")

    def chosen(**filters: object) -> list[str]:
        return [str(item["envelope"]["euid"]) for item in all_pages(site.admin, "/queues/q/items", **filters)]

    assert chosen(site="north") == chosen(platform="illumina") == [north]
    assert chosen(site="north", assay="rna") == []
    assert len(chosen(state="READY")) == 2
    assert chosen(state="FAILED_RETRYABLE") == []


def test_holds_and_dead_letters_are_listed_of_one_queue(site: Site) -> None:
    site.admin.act("hold", subject_euid=site.admin.submit(), reason="x")

    assert len(site.admin.get("/holds", queue_key="q")["items"]) == 1
    assert site.admin.get("/holds", queue_key="elsewhere")["items"] == []
    assert site.admin.get("/dead-letter", queue_key="q")["items"] == []


def test_samples_tell_how_a_queue_went(site: Site) -> None:
    before = site.admin.get(f"/subjects/{site.admin.submit()}")["at"]
    site.server.settings.clock.advance(seconds=1)  # type: ignore[union-attr, call-arg]
    site.trusted.sample_queues(min_interval_seconds=0)

    [sample] = site.admin.get("/queues/q/samples", since=before)["samples"]

    assert sample["counts"]["queue_depth"] == 1
