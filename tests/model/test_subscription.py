"""What may be said of a subscription, and what is told of it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tenure.model.fact import check_data
from tenure.model.subscription import SubscriptionSpec

HOOK = {"kind": "webhook", "url": "https://shop.example/hook/s3cr3t?key=s3cr3t"}


def spec(**more: Any) -> SubscriptionSpec:
    given = {"name": "shop", "actor": "service:shop", "filter": {"types": ["run.*"]}, "destination": HOOK}
    return SubscriptionSpec(**(given | more))


@pytest.mark.parametrize("url", [
    "https://shop.example", "https://shop.example:8443/x?y=1", "https://[2606:4700::1]/x", "https://192.0.2.1/",
])  # fmt: skip
def test_where_a_webhook_may_be(url: str) -> None:
    assert spec(destination={"kind": "webhook", "url": url}).destination.kind == "webhook"


@pytest.mark.parametrize("url", [
    "http://shop.example/", "https://", "https:///x", "//shop.example", "shop.example", "file:///etc/passwd", "https://a:b@shop.example/",
    "https://shop.example:99999/", "https://shop.example:x/", "https://shop.example/#x", "https://shop.example/a b", "https://shöp.example/",
    "https://" + "a" * 2000,
])  # fmt: skip
def test_where_it_may_not(url: str) -> None:
    with pytest.raises(ValidationError) as refused:
        spec(destination={"kind": "webhook", "url": url})
    assert "Traceback" not in str(refused.value)


def test_plain_http_is_for_private_networks_alone() -> None:
    private = {"kind": "webhook", "url": "http://10.0.0.7/x", "allow_private": True}
    assert spec(destination=private).destination == spec(destination=private).destination


def test_a_window_belongs_to_the_delayed_lane() -> None:
    assert spec(lane="delayed").window_seconds == 60
    for wrong in (
        {"window_seconds": 60},
        {"lane": "delayed", "window_seconds": 59},
        {"lane": "delayed", "window_seconds": 301},
    ):
        with pytest.raises(ValidationError):
            spec(**wrong)


def test_what_is_told_of_it_has_no_more_of_a_url_than_its_origin() -> None:
    told = spec().told()
    check_data(told)
    assert "s3cr3t" not in str(told)
    assert told["destination"]["origin"] == "https://shop.example"
    other = spec(destination=HOOK | {"url": "https://shop.example/other"}).told()
    assert other["destination"]["url_sha256"] != told["destination"]["url_sha256"]


def test_its_repr_has_no_url() -> None:
    assert "s3cr3t" not in repr(spec())
