"""People sign in with a name and a password, and have a session in a cookie (design 06, HTTP API)."""

from __future__ import annotations

import json
import statistics
import time

import httpx
import pytest

from tenure.engine.actions.principals import set_password
from tenure.sdk.client import Tenure
from tenure.sdk.password import password_hash
from tenure.testing.clock import MovableClock
from tests.identity.conftest import Serve

PASSWORD = "several words in a row"  # noqa: S105
WRONG = "wrong in every way"
SESSION = "/api/v1/session"
OURS = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture(scope="module")
def hashed() -> str:
    """Hashing takes its time by design, so it is done once."""
    return password_hash(PASSWORD)


@pytest.fixture(autouse=True)
def ada(ours: Tenure, hashed: str) -> None:
    ada = ours.create_principal("user:ada", roles=["operator"], display_name="Ada L.")
    ours.perform(lambda caller: set_password(caller, ada.uid, hashed))


async def sign_in(
    http: httpx.AsyncClient, name: str = "ada", password: str = PASSWORD, **headers: str
) -> httpx.Response:
    return await http.post(SESSION, json={"name": name, "password": password}, headers=headers)


async def test_a_session_lasts_from_signing_in_to_signing_out(http: httpx.AsyncClient, ours: Tenure) -> None:
    assert (await http.get(SESSION)).status_code == 401
    began = await sign_in(http)
    assert began.status_code == 200
    assert began.json()["principal"] == "user:ada"
    assert began.json()["permissions"] == ["operate", "read", "submit", "work"]
    cookie = began.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "secure" in cookie
    assert http.cookies["tenure_session"] not in began.text

    who = await http.get(SESSION)
    assert who.json() == began.json()
    kept = dict(http.cookies)
    assert (await http.delete(SESSION, headers=OURS)).status_code == 204
    assert "tenure_session" not in http.cookies
    http.cookies.update(kept)
    assert (await http.get(SESSION)).status_code == 401
    told = [fact.type for fact in ours.facts(ours.principal("user:ada").uid)]
    assert told[-2:] == ["access_token.created", "access_token.revoked"]


async def test_a_session_ends_by_itself(http: httpx.AsyncClient, clock: MovableClock) -> None:
    await sign_in(http)
    clock.advance(hours=12, seconds=-1)
    assert (await http.get(SESSION)).status_code == 200
    clock.advance(seconds=1)
    assert (await http.get(SESSION)).status_code == 401


@pytest.mark.parametrize("public_url", ["http://localhost:8765", None])
async def test_a_cookie_is_for_https_only_where_the_server_is_reached_by_it(served: Serve, public_url: str) -> None:
    http = await served(public_url=public_url)
    http.base_url = httpx.URL("http://localhost:8765")
    assert "secure" not in (await sign_in(http)).headers["set-cookie"].lower()


async def test_unknown_name_wrong_password_no_password_and_disabled_are_answered_alike(
    served: Serve, ours: Tenure, theirs: Tenure
) -> None:
    http = await served(sign_in_burst=100)
    ours.create_principal("user:none", roles=["admin"])
    ours.create_principal("user:gone", roles=["admin"])
    ours.set_password("user:gone", PASSWORD)
    ours.disable_principal("user:gone")
    theirs.create_principal("user:eve", roles=["admin"])
    theirs.set_password("user:eve", PASSWORD)
    answers = [
        await sign_in(http, "nobody"), await sign_in(http, "ada", "another in a row"), await sign_in(http, "none"),
        await sign_in(http, "gone"), await sign_in(http, "eve"), await sign_in(http, "user:ada "),
    ]  # fmt: skip
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.content for answer in answers}) == 1
    assert len({str(sorted(set(answer.headers) - {"date"})) for answer in answers}) == 1


async def test_an_unknown_name_takes_as_long_as_a_wrong_password(served: Serve) -> None:
    http = await served(sign_in_burst=1000, anonymous_burst=1000)
    took: dict[str, list[float]] = {"nobody": [], "ada": []}
    for _ in range(3):
        for name, times in took.items():
            begin = time.perf_counter()
            await sign_in(http, name, WRONG)
            times.append(time.perf_counter() - begin)
    unknown, wrong = (statistics.median(times) for times in took.values())
    # A hash takes some 50 ms. Without one the answer would come at least ten times as fast.
    assert unknown > wrong / 3, took


async def test_another_tenants_people_sign_in_when_they_name_it(http: httpx.AsyncClient, theirs: Tenure) -> None:
    theirs.create_principal("user:eve", roles=["admin"])
    theirs.set_password("user:eve", PASSWORD)
    answer = await http.post(SESSION, json={"name": "eve", "password": PASSWORD, "tenant": "theirs"})
    assert answer.json()["tenant"] == "theirs"


@pytest.mark.parametrize(
    "headers",
    [
        {}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"},
        {"Origin": "https://evil.test"}, {"Origin": "http://tenure.test"}, {"Origin": "null"},
        {"Origin": "https://tenure.test", "Sec-Fetch-Site": "cross-site"},
    ],
)  # fmt: skip
async def test_a_cookie_changes_nothing_without_proof_of_coming_from_our_pages(
    http: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    await sign_in(http)
    answer = await http.delete(SESSION, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "cross_site")
    assert (await http.get(SESSION)).status_code == 200


@pytest.mark.parametrize("headers", [{"Origin": "https://tenure.test"}, OURS])
async def test_our_own_pages_are_believed(http: httpx.AsyncClient, headers: dict[str, str]) -> None:
    await sign_in(http)
    assert (await http.delete(SESSION, headers=headers)).status_code == 204


async def test_a_bearer_token_needs_no_page(http: httpx.AsyncClient, ours: Tenure) -> None:
    bearer = {"Authorization": f"Bearer {ours.create_token('user:ada').secret.reveal()}"}
    assert (await http.get(SESSION, headers=bearer)).json()["kind"] == "API"
    assert (await http.delete(SESSION, headers=bearer)).status_code == 204
    assert (await http.get(SESSION, headers=bearer)).status_code == 401


async def test_no_other_site_signs_anybody_in(http: httpx.AsyncClient) -> None:
    answer = await sign_in(http, Origin="https://evil.test")
    assert answer.json()["code"] == "cross_site"
    assert (await sign_in(http, **OURS)).status_code == 200


@pytest.mark.parametrize("name", ["a\x00b", "", "x" * 2000, "user:\ud800"])
async def test_what_cannot_be_a_name_is_refused_and_nothing_breaks(http: httpx.AsyncClient, name: str) -> None:
    body = json.dumps({"name": name, "password": PASSWORD})
    answer = await http.post(SESSION, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422), answer.text


async def test_guessing_is_slowed_down_for_a_name_and_the_right_password_is_not(
    served: Serve, clock: MovableClock
) -> None:
    http = await served(sign_in_burst=3, sign_in_per_minute=2)
    for _ in range(5):
        assert (await sign_in(http)).status_code == 200
    for _ in range(3):
        assert (await sign_in(http, password=WRONG)).status_code == 401
    refused = await sign_in(http)
    assert (refused.status_code, refused.json()["code"], refused.headers["Retry-After"]) == (429, "rate_limited", "30")
    clock.advance(seconds=29)
    assert (await sign_in(http)).status_code == 429
    clock.advance(seconds=1)
    assert (await sign_in(http)).status_code == 200


async def test_guessing_names_is_slowed_down_for_an_address(served: Serve) -> None:
    http = await served(sign_in_burst=2)
    for n in range(8):
        assert (await sign_in(http, f"user{n}")).status_code == 401
    assert (await sign_in(http, "user9")).status_code == 429
