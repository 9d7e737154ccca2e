"""Rate limits: 429 with Retry-After, each credential for itself (design 06, HTTP API)."""

from __future__ import annotations

from tenure.api.rates import Buckets
from tenure.sdk.client import Tenure
from tenure.testing.clock import MovableClock
from tests.identity.conftest import Serve

SESSION = "/api/v1/session"


class Watch:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_gives_its_burst_and_then_its_rate() -> None:
    watch = Watch()
    buckets = Buckets(per_second=2, burst=3, now=watch)
    assert [buckets.take("a") for _ in range(3)] == [0, 0, 0]
    assert buckets.take("a") == 0.5
    assert buckets.take("b") == 0
    watch.now += 0.5
    assert buckets.take("a") == 0
    assert buckets.take("a") == 0.5
    watch.now += 3600
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 0.5]


def test_a_refused_request_costs_nothing() -> None:
    watch = Watch()
    buckets = Buckets(per_second=1, burst=1, now=watch)
    buckets.take("a")
    assert {buckets.take("a") for _ in range(100)} == {1.0}
    watch.now += 1
    assert buckets.take("a") == 0


def test_what_is_given_back_was_not_taken() -> None:
    buckets = Buckets(per_second=1, burst=1, now=Watch())
    buckets.take("a")
    buckets.give_back("a")
    assert buckets.take("a") == 0
    assert buckets.take("a") > 0
    buckets.give_back("never seen")


def test_memory_is_bounded() -> None:
    buckets = Buckets(per_second=1, burst=1, now=Watch())
    for n in range(60_000):
        buckets.take(n)
    assert len(buckets._full_at) == 50_000
    assert buckets.take(59_999) > 0


async def test_a_credential_has_its_own_limit(served: Serve, ours: Tenure, clock: MovableClock) -> None:
    http = await served(rate_per_second=1, rate_burst=5)
    ours.create_principal("user:ada", roles=["observer"])
    one, other = ({"Authorization": f"Bearer {ours.create_token('user:ada').secret.reveal()}"} for _ in "12")
    await http.get(SESSION, headers=one)  # the first proves it, and counts for the address
    statuses = [(await http.get(SESSION, headers=one)).status_code for _ in range(6)]
    assert statuses == [200] * 5 + [429]
    refused = await http.get(SESSION, headers=one)
    assert refused.headers["Retry-After"] == "1"
    assert refused.json()["code"] == "rate_limited"
    assert refused.headers["content-type"] == "application/problem+json"
    assert (await http.get(SESSION, headers=other)).status_code == 200
    clock.advance(seconds=1)
    assert (await http.get(SESSION, headers=one)).status_code == 200


async def test_without_a_credential_that_proves_somebody_the_address_is_limited(served: Serve, ours: Tenure) -> None:
    settings = {"anonymous_per_second": 1, "anonymous_burst": 4}
    http = await served(**settings)
    ours.create_principal("user:ada", roles=["observer"])
    good = {"Authorization": f"Bearer {ours.create_token('user:ada').secret.reveal()}"}
    assert (await http.get(SESSION, headers=good)).status_code == 200
    answers = [(await http.get(SESSION)).status_code]
    answers += [(await http.get(SESSION, headers={"Authorization": f"Bearer {n}"})).status_code for n in range(3)]
    assert answers == [401, 401, 401, 429]
    assert (await http.get(SESSION, headers=good)).status_code == 200


async def test_a_revoked_credential_counts_for_its_address_again(served: Serve, ours: Tenure) -> None:
    http = await served(anonymous_per_second=1, anonymous_burst=3)
    ours.create_principal("user:ada", roles=["observer"])
    issued = ours.create_token("user:ada")
    headers = {"Authorization": f"Bearer {issued.secret.reveal()}"}
    for _ in range(5):
        assert (await http.get(SESSION, headers=headers)).status_code == 200
    ours.revoke_token(issued.access_token)
    statuses = [(await http.get(SESSION, headers=headers)).status_code for _ in range(4)]
    assert statuses == [401, 401, 401, 429]


async def test_whether_the_server_lives_is_never_limited(served: Serve) -> None:
    http = await served(anonymous_per_second=1, anonymous_burst=1)
    await http.get(SESSION)
    assert (await http.get(SESSION)).status_code == 429
    assert {(await http.get("/openapi.json")).status_code for _ in range(5)} == {200}
