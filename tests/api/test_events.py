"""Live events: in order, without gaps, resumed exactly, of one's own tenant only; and what reads them stays bounded."""

from __future__ import annotations

import gc
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import httpx
import psycopg
import pytest

from tenure.api.live.following import _KEPT
from tests.api.conftest import Site
from tests.api.documented import NO_TLS, PREFIX
from tests.waiting import until


@pytest.fixture
def site(site: Site) -> Site:
    """With those who act in it made beforehand, so that only what a test does is told."""
    for client in (site.admin, site.worker, site.as_("observer")):
        client.get("/queues")
    return site


class Stream:
    """Reads a stream of events in a thread, as a browser would."""

    def __init__(self, site: Site, role: str = "observer", **params: Any) -> None:
        self.events: list[dict[str, Any]] = []
        self.last_id: str | None = None
        self.signs = 0
        self.ended = threading.Event()
        headers = {"Authorization": f"Bearer {site.as_(role).secret}"}
        if "last_event_id" in params:
            headers["Last-Event-ID"] = str(params.pop("last_event_id"))
        self._http = httpx.Client(base_url=site.server.url, headers=headers, timeout=30, verify=NO_TLS)
        self._response = self._http.send(
            self._http.build_request("GET", PREFIX + "/events", params=params), stream=True
        )
        assert self._response.status_code == 200
        assert self._response.headers["content-type"].startswith("text/event-stream")
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            fields: dict[str, str] = {}
            for line in self._response.iter_lines():
                name, _, value = line.partition(": ")
                if line and not line.startswith(":"):
                    fields[name] = value
                elif not line:
                    self._dispatch(fields)
                    fields = {}
        except httpx.HTTPError:
            pass
        finally:
            self.ended.set()

    def _dispatch(self, fields: dict[str, str]) -> None:
        self.last_id = fields.get("id", self.last_id)
        if "data" not in fields:
            self.signs += "id" in fields
            return
        event = json.loads(fields["data"])
        assert (fields["id"], fields["event"]) == (str(event["position"]), event["type"])
        self.events.append(event)

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    def close(self) -> None:
        # A socket that another thread reads is only gone when that thread has let go of it.
        with suppress(OSError):
            self._response.extensions["network_stream"].get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self._http.close()


@contextmanager
def stream(site: Site, **params: Any) -> Iterator[Stream]:
    made = Stream(site, **params)
    try:
        yield made
    finally:
        made.close()


def work_through(site: Site) -> str:
    subject = site.admin.submit()
    [lease] = site.worker.claim(site.worker.register(), start=True)
    site.worker.act("complete", **site.worker.holder(lease))
    return subject


def test_what_happens_is_told_while_it_happens(site: Site) -> None:
    with stream(site, subject_euid=(subject := site.admin.submit())) as events:
        until(lambda: events.signs)
        site.admin.act("hold", subject_euid=subject, reason="broken seal")
        site.admin.act("release-hold", subject_euid=subject)

        until(lambda: len(events.events) == 2)

    assert events.types == ["hold.placed", "hold.released"]
    assert events.events[0]["data"]["reason"] == "broken seal"
    assert (events.events[0]["thread"], events.events[0]["severity"]) == (subject, "warning")


def test_after_a_break_it_goes_on_exactly_where_it_was(site: Site) -> None:
    start = site.admin.get("/facts")["position"]
    for _ in range(30):
        site.admin.submit()
    with stream(site, after=start) as first:
        until(lambda: len(first.events) == 30)
    middle = first.events[17]["position"]

    with stream(site, last_event_id=middle) as second:
        site.admin.submit()
        until(lambda: len(second.events) == 13)

    assert [e["position"] for e in second.events[:12]] == [e["position"] for e in first.events[18:]]


def test_filters_choose_by_queue_type_and_subject(site: Site) -> None:
    site.trusted.define_queue("other")
    start = site.admin.get("/facts")["position"]
    site.admin.submit("other")
    subject = work_through(site)

    with (
        stream(site, after=start, queue_key="other") as of_queue,
        stream(site, after=start, type=["lease.claimed", "execution.completed"]) as of_types,
        stream(site, after=start, subject_euid=subject) as of_subject,
    ):
        until(lambda: of_queue.events and len(of_types.events) == 2 and len(of_subject.events) == 3)

    assert of_queue.types == ["subject.submitted"]
    assert of_types.types == ["lease.claimed", "execution.completed"]
    assert of_subject.types == ["subject.submitted", "lease.claimed", "execution.completed"]


def test_signs_of_life_come_and_count_as_seen(site: Site) -> None:
    with stream(site) as events:
        until(lambda: events.signs >= 3)
        position = site.admin.get("/facts")["position"]
        until(lambda: int(events.last_id or 0) >= position)


def test_nobody_hears_of_another_tenant(site: Site) -> None:
    stranger = Site(site.server, f"{site.tenant}-stranger")
    stranger.trusted.define_queue("q")
    try:
        with stream(stranger, after=0) as theirs:
            until(lambda: theirs.events)
            subject = site.admin.submit()
            own = stranger.admin.submit()
            until(lambda: any(event["thread"] == own for event in theirs.events))
        assert subject not in {event["thread"] for event in theirs.events}
        assert {e["thread"] for e in stranger.admin.get("/facts")["items"]} == {e["thread"] for e in theirs.events}
    finally:
        stranger.close()


def test_only_what_is_registered_as_safe_is_told(site: Site) -> None:
    start = site.admin.get("/facts")["position"]
    site.admin.submit(properties={"patient": "Ada"}, name="a name", payload_ref="s3://secret")
    [lease] = site.worker.claim(site.worker.register(), start=True)
    site.worker.act("complete", key="secret-key", **site.worker.holder(lease), result={"diagnosis": "x"})

    told = json.dumps(site.admin.get("/facts", after=start)["items"])

    for hidden in ("patient", "a name", "s3://secret", "diagnosis", lease["lease_token"], "secret-key"):
        assert hidden not in told


def test_a_fact_that_commits_late_is_not_skipped(site: Site) -> None:
    """It drew the lower position; whoever only went by positions would have gone past it."""
    start = site.admin.get("/facts")["position"]
    with stream(site, after=start) as events, psycopg.connect(site.server.settings.dsn) as slow:
        first = site.trusted.within(slow).submit(queue_key="q")
        site.admin.submit()
        site.admin.submit()
        until(lambda: events.signs >= 3)
        assert events.events == []
        assert site.admin.get("/facts", after=start) == {"items": [], "next": None, "position": start}

        slow.commit()
        until(lambda: len(events.events) == 3)

    positions = [event["position"] for event in events.events]
    assert positions == sorted(positions)
    assert events.events[0]["thread"] == first.as_dict()["subject"]


def test_one_who_lags_behind_what_is_kept_reads_the_rest_from_the_database(site: Site) -> None:
    start = site.admin.get("/facts")["position"]
    with stream(site, after=start) as live:
        until(lambda: live.signs)
        site.trusted.submit_many([{"queue_key": "q"} for _ in range(_KEPT + 500)])
        until(lambda: len(live.events) == _KEPT + 500, 30)
        with stream(site, after=start) as late:
            until(lambda: len(late.events) == _KEPT + 500, 30)

    assert [e["position"] for e in late.events] == [e["position"] for e in live.events]


def test_a_client_that_does_not_read_keeps_nobody_else_waiting_and_is_forgotten_when_it_hangs_up(site: Site) -> None:
    following = site.server.application.state.following
    start = site.admin.get("/facts")["position"]
    headers = {"Authorization": f"Bearer {site.as_('observer').secret}"}
    gc.disable()  # what a stream holds is let go of at once, not when garbage happens to be collected
    try:
        with (
            httpx.Client(base_url=site.server.url, headers=headers, timeout=30, verify=NO_TLS) as lazy,
            lazy.stream("GET", PREFIX + "/events", params={"after": start}),
            stream(site, after=start) as eager,
        ):
            for _ in range(4):
                site.trusted.submit_many([{"queue_key": "q"} for _ in range(1000)])
            until(lambda: len(eager.events) == 4000, 30)

        until(lambda: following.listeners == 0)
    finally:
        gc.enable()


def test_who_hangs_up_is_forgotten(site: Site) -> None:
    following = site.server.application.state.following
    until(lambda: following.listeners == 0)
    with stream(site):
        until(lambda: following.listeners == 1)

    until(lambda: following.listeners == 0)


def test_those_who_hang_up_at_once_take_no_connection_with_them(site: Site, make_server: Any) -> None:
    server = make_server(site.server.settings)
    url = httpx.URL(server.url)
    asked = f"GET {PREFIX}/events HTTP/1.1\r\nHost: {url.host}\r\nAuthorization: Bearer {site.admin.secret}\r\n\r\n"

    def hang_up() -> None:
        for _ in range(100):
            with socket.create_connection((url.host, url.port), timeout=30) as connection:
                connection.sendall(asked.encode())
                assert connection.recv(100).startswith(b"HTTP/1.1 200 ")

    with ThreadPoolExecutor(4) as impatient:
        for done in [impatient.submit(hang_up) for _ in range(4)]:
            done.result()


@pytest.mark.parametrize("limit", [1, 7, 100])
def test_the_ledger_is_read_in_pages_to_its_end(site: Site, limit: int) -> None:
    for _ in range(10):
        site.admin.submit()
    whole = site.admin.get("/facts", limit=500)

    found, cursor = [], None
    while True:
        page = site.admin.get("/facts", limit=limit, cursor=cursor)
        found += page["items"]
        if (cursor := page["next"]) is None:
            break

    assert found == whole["items"]
    assert page["position"] == whole["position"]
    assert site.admin.get("/facts", after=page["position"])["items"] == []


def test_streams_end_when_the_server_stops(site: Site, make_server: Any) -> None:
    server = make_server(site.server.settings)
    there = Site(server, site.tenant)
    there._clients.update({("observer", None): site.as_("observer"), (("observer",), None): site.as_("observer")})
    with stream(there) as events:
        until(lambda: events.signs)
        began = time.monotonic()
        server.stop()
        assert events.ended.wait(10)
    assert time.monotonic() - began < 5
    there.trusted.close()
