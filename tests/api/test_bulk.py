"""Bulk submit: many lines in, as many out, whatever is among them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import psutil
import pytest

from tests.api.conftest import Site

ND = {"Content-Type": "application/x-ndjson"}


def lines(text: str) -> list[dict]:  # type: ignore[type-arg]
    return [json.loads(line) for line in text.splitlines()]


def bulk(site: Site, content: object, **headers: str) -> list[dict]:  # type: ignore[type-arg]
    response = site.admin.request("POST", "/subjects:bulk", content=content, headers=ND | headers)
    assert response.status_code == 200, response.text
    return lines(response.text)


def test_ten_thousand_lines_with_bad_ones_in_the_middle(site: Site) -> None:
    bad = {
        5000: b'{"queue_key": ', 5001: b'{"queue_key": "nowhere"}', 5002: b'{"nonsense": 1}',
        5003: b'{"parent_euids": ["SX-YGJ25"]}', 5004: b'{"properties": {"a": "\\u0000"}}', 5005: b"[]", 5006: b"\xff\xfe",
    }  # fmt: skip

    def content() -> Iterator[bytes]:
        for number in range(1, 10_001):
            yield bad.get(number, b'{"queue_key": "q", "properties": {"number": %d}}' % number) + b"\n"

    told = bulk(site, content())

    assert [line["line"] for line in told] == list(range(1, 10_001))
    assert {line["line"]: line["problem"]["code"] for line in told if "problem" in line} == {
        5000: "invalid_request", 5001: "queue_unknown", 5002: "invalid_request", 5003: "invalid_euid",
        5004: "invalid_payload", 5005: "invalid_request", 5006: "invalid_request",
    }  # fmt: skip
    assert site.admin.get("/queues/q")["metrics"]["queue_depth"] == 10_000 - len(bad)
    one = next(line["result"]["subject"] for line in told if line["line"] == 7777)
    assert site.admin.get(f"/subjects/{one}")["subject"]["properties"] == {"number": 7777}


def test_a_bulk_that_broke_off_can_be_sent_again(site: Site) -> None:
    content = b'{"queue_key": "q"}\n{"queue_key": "q", "idempotency_key": "own"}\n'

    first = bulk(site, content, **{"Idempotency-Key": "b-1"})
    second = bulk(site, content + b'{"queue_key": "q"}\n', **{"Idempotency-Key": "b-1"})

    assert [line["result"]["subject"] for line in first] == [line["result"]["subject"] for line in second[:2]]
    assert [line["result"]["replayed"] for line in second] == [True, True, False]


@pytest.mark.parametrize("content", [b"", b"\n\n", b" \r\n"])
def test_nothing_in_nothing_out(site: Site, content: bytes) -> None:
    assert bulk(site, content) == []


def test_empty_lines_are_counted_and_the_last_needs_no_end(site: Site) -> None:
    told = bulk(site, b'\r\n{"queue_key": "q"}\r\n\n{"queue_key": "q"}')

    assert [line["line"] for line in told] == [2, 4]


def test_a_line_that_is_too_long_is_refused_alone(site: Site) -> None:
    longest = site.server.settings.max_line_bytes
    content = b'{"queue_key": "q"}\n{"properties": {"a": "' + b"x" * longest + b'"}}\n{"queue_key": "q"}\n'

    told = bulk(site, content)

    assert [line.get("problem", {}).get("code") for line in told] == [None, "body_too_large", None]


def test_another_media_type_is_refused(site: Site) -> None:
    response = site.admin.request("POST", "/subjects:bulk", json=[])

    assert (response.status_code, response.json()["code"]) == (415, "unsupported_media_type")


@pytest.mark.slow
def test_memory_stays_flat_however_much_comes(site: Site) -> None:
    """64 MiB that are all refused, so that it is the reading that is measured; server and client are one process."""
    line = b'{"nonsense": "' + b"x" * 65_000 + b'"}\n'
    bulk(site, (line for _ in range(50)))
    before = psutil.Process().memory_info().rss

    told = bulk(site, (line for _ in range(1000)))

    assert len(told) == 1000
    assert psutil.Process().memory_info().rss - before < 24 * 1024 * 1024
