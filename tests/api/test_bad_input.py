"""Whatever is sent, the answer is a problem with a stable code, and never a stack trace."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tenure.api.settings import ServerSettings
from tests.api.conftest import Site

BODIES: list[tuple[str, Any, int, str]] = [
    ("broken", b'{"queue_key": ', 400, "invalid_request"),
    ("empty", b"", 400, "invalid_request"),
    ("no utf-8", b'{"name": "\xff"}', 400, "invalid_request"),
    ("nan", b'{"properties": {"a": NaN}}', 400, "invalid_request"),
    ("infinity", b'{"properties": {"a": -Infinity}}', 400, "invalid_request"),
    ("beyond floats", b'{"properties": {"a": 1e999}}', 422, "invalid_payload"),
    ("lone surrogate", b'{"properties": {"a": "\\ud800"}}', 400, "invalid_request"),
    ("nul in properties", b'{"properties": {"a": "\\u0000"}}', 422, "invalid_payload"),
    ("nul in a key", b'{"properties": {"\\u0000": 1}}', 422, "invalid_payload"),
    ("nul in a name", b'{"name": "\\u0000"}', 400, "invalid_request"),
    ("deep", b'{"properties": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}", 400, "invalid_request"),
    ("a huge number", b'{"priority": ' + b"9" * 5000 + b"}", 400, "invalid_request"),
    ("a long number", b'{"properties": {"a": ' + b"9" * 4000 + b"}}", 201, ""),
    ("no object", b"[]", 400, "invalid_request"),
    ("an unknown field", b'{"nonsense": 1}', 400, "invalid_request"),
    ("a wrong type", b'{"priority": "high"}', 400, "invalid_request"),
    ("out of range", b'{"priority": 99999}', 400, "invalid_request"),
    ("a naive time", b'{"ready_at": "2026-03-01T12:00:00"}', 400, "naive_datetime"),
    ("no EUID", b'{"parent_euids": ["nonsense"]}', 400, "invalid_euid"),
    ("a mistyped EUID", b'{"parent_euids": ["SX-YGJ25"]}', 400, "invalid_euid"),
    ("nobody's parent", b'{"parent_euids": ["SX-YGJ24"]}', 404, "not_found"),
    ("an unknown queue", b'{"queue_key": "nowhere"}', 404, "queue_unknown"),
    ("an unknown template", b'{"template": "no/such/1.0"}', 404, "not_found"),
]


@pytest.mark.parametrize("body, status, code", [b[1:] for b in BODIES], ids=[b[0] for b in BODIES])
def test_a_bad_body_is_refused_with_a_stable_code(site: Site, body: bytes, status: int, code: str) -> None:
    response = site.admin.request(
        "POST", "/subjects", content=body, headers={"Content-Type": "application/json; charset=utf-8"}
    )

    assert (response.status_code, response.json().get("code", "")) == (status, code), response.text


@pytest.mark.parametrize(
    "media_type", [None, "text/plain", "application/x-www-form-urlencoded", "application/x-ndjson"]
)
def test_another_media_type_is_refused(site: Site, media_type: str | None) -> None:
    headers = {"Content-Type": media_type} if media_type else {}

    response = site.admin.request("POST", "/subjects", content=b"{}", headers=headers)

    assert (response.status_code, response.json()["code"]) == (415, "unsupported_media_type")


PATHS = [
    ("/subjects/nonsense", 400, "invalid_euid"), ("/subjects/SX-YGJ25", 400, "invalid_euid"),
    ("/subjects/SX-YGJ24", 404, "not_found"), ("/subjects/SX-YGJ24%00", 400, "invalid_euid"),
    ("/subjects/%ff", 400, "invalid_euid"), ("/workers/WX-YGJ24", 404, "not_found"),
    ("/queues/nowhere", 404, "queue_unknown"), ("/queues/%00", 400, "invalid_request"),
    ("/queues/nowhere/items", 404, "queue_unknown"), ("/leases?status=NONSENSE", 400, "invalid_request"),
    ("/leases?limit=0", 400, "invalid_request"), ("/leases?limit=99999999999999999999", 400, "invalid_request"),
    ("/leases?queue_key=%00", 400, "invalid_request"), ("/facts?after=-1", 400, "invalid_request"),
    ("/facts?after=99999999999999999999", 400, "invalid_request"), ("/events?after=x", 400, "invalid_request"),
    ("/nothing/here", 404, "not_found"),
]  # fmt: skip


@pytest.mark.parametrize("path, status, code", PATHS, ids=[p[0] for p in PATHS])
def test_a_bad_address_is_refused_with_a_stable_code(site: Site, path: str, status: int, code: str) -> None:
    response = site.admin.request("GET", path)

    assert (response.status_code, response.json()["code"]) == (status, code), response.text
    assert response.headers["content-type"] == "application/problem+json"


def test_a_wrong_method_is_told_the_right_ones(site: Site) -> None:
    response = site.admin.request("DELETE", "/queues")

    assert (response.status_code, response.json()["code"]) == (405, "method_not_allowed")
    assert "GET" in response.headers["allow"]


def test_a_key_that_no_header_may_hold_is_refused(site: Site) -> None:
    response = site.admin.request("POST", "/subjects", json={}, headers={"Idempotency-Key": "k" * 501})

    assert (response.status_code, response.json()["code"]) == (400, "invalid_request")


@pytest.mark.parametrize("announced", [True, False], ids=["announced", "in chunks"])
def test_a_body_that_is_too_large_is_refused_before_it_is_kept(site: Site, make_server: Any, announced: bool) -> None:
    small = make_server(ServerSettings(dsn=site.server.settings.dsn, max_body_bytes=2000, ui=False))
    there = Site(small, site.tenant)
    body = json.dumps({"properties": {"a": "x" * 3000}}).encode()
    content: Any = body if announced else (body[i : i + 500] for i in range(0, len(body), 500))
    client = there.as_("admin", name="service:large")
    try:
        response = client.request("POST", "/subjects", content=content, headers={"Content-Type": "application/json"})
        after = client.request("POST", "/subjects", json={})
    finally:
        there.close()

    assert (response.status_code, response.json()["code"]) == (413, "body_too_large")
    assert after.status_code == 201


def test_a_failure_of_ours_tells_a_number_and_no_stack(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any) -> None:
        raise RuntimeError("secret detail")

    gateway = site.server.application.state.gateway
    client = site.admin
    monkeypatch.setattr(gateway, "perform", fail)

    response = client.http.get(client.address("/queues"))

    assert response.status_code == 500
    assert response.json()["code"] == "internal_error"
    assert "secret detail" not in response.text
    assert "Incident" in response.json()["detail"]


def test_from_those_who_do_not_say_who_they_are_only_a_little_is_read(site: Site) -> None:
    body = json.dumps({"properties": {"a": "x" * 100_000}}).encode()
    headers = {"Content-Type": "application/json"}

    anonymous = site.anonymous.request("POST", "/subjects", content=body, headers=headers)
    known = site.admin.request("POST", "/subjects", content=body, headers=headers)

    assert (anonymous.status_code, known.status_code) == (413, 201)
