"""The id of a request, and the line that tells of it."""

from __future__ import annotations

import json
import logging

import pytest

from tests.waiting import until

OTHERS = "Grace-Hopper-1906"


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.INFO, logger="tenure.request")
    return lambda: [json.loads(r.getMessage()) for r in caplog.records if r.name == "tenure.request"]


def test_a_request_is_told_in_one_line_by_route_and_actor(site, lines):
    subject = site.admin.submit()
    before = len(lines())
    answer = site.admin.request("GET", f"/subjects/{subject}", headers={"X-Request-ID": "from-the-proxy.7"})
    [line] = until(lambda: lines()[before:])

    assert answer.headers["x-request-id"] == line["request_id"] == "from-the-proxy.7"
    assert (line["method"], line["route"], line["status"]) == (
        "GET", "/api/v1/execution/subjects/{subject_euid}", 200,
    )  # fmt: skip
    assert (line["tenant"], line["actor"]) == (site.tenant, "service:admin")
    assert line["duration_ms"] > 0


@pytest.mark.parametrize("given", ["", "spaces are odd", "x" * 101, "-begins-oddly", '"quoted"'])
def test_an_id_that_could_be_anything_is_replaced(site, given):
    answer = site.admin.request("GET", "/queues", headers={"X-Request-ID": given})

    assert len(answer.headers["x-request-id"]) == 32


def test_nothing_that_was_asked_is_told_but_the_route(site, lines):
    before = len(lines())
    site.admin.request("GET", f"/subjects/{OTHERS}", params={"name": OTHERS})
    site.admin.request("GET", f"/{OTHERS}?{OTHERS}")
    site.anonymous.request("GET", "/queues", headers={"Authorization": f"Bearer {OTHERS}"})
    site.admin.request("POST", "/subjects", json={"queue_key": OTHERS, "name": OTHERS})
    told = until(lambda: len(lines()) >= before + 4 and lines()[before:])

    assert [line["status"] for line in told] == [400, 404, 401, 404]
    assert [line["route"] for line in told][1] == "other"
    assert OTHERS not in json.dumps(told)


def test_a_defect_is_told_by_number_class_and_place_and_never_by_what_it_quotes(site, caplog, monkeypatch):
    def broken(caller, subject):
        raise ValueError(OTHERS) from KeyError(OTHERS)

    monkeypatch.setattr("tenure.engine.reading.why", broken)
    subject = site.admin.submit()
    with caplog.at_level(logging.DEBUG):
        answer = site.admin.http.get(site.admin.address(f"/subjects/{subject}/why"))

    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (500, "internal_error")
    assert answer.headers["content-type"] == "application/problem+json"
    assert len(answer.headers["x-request-id"]) == 32
    told = "\n".join(logging.Formatter().format(record) for record in caplog.records)
    assert problem["detail"].split()[-1].rstrip(".") in told
    assert "ValueError at " in told and "because of KeyError" in told
    assert OTHERS not in told + answer.text
