"""People sign in through a real OpenID Connect provider, which runs in this process (design 06, HTTP API)."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit, urlunsplit

import httpx
import oidc_provider_mock
import pytest
from oidc_provider_mock._server import _threaded_server

from tenure.sdk.client import Tenure
from tenure.testing.clock import MovableClock
from tests.identity.conftest import Serve

SESSION = "/api/v1/session"


class Provider:
    """The provider and every token request that it got."""

    def __init__(self) -> None:
        self.exchanged: list[dict[str, str]] = []
        self._app = oidc_provider_mock.app(require_nonce=True)
        self.issuer = ""

    def __call__(self, environ: dict[str, Any], start: Any) -> Any:
        if environ["PATH_INFO"].endswith("/token"):
            body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
            self.exchanged.append(dict(parse_qsl(body.decode())))
            environ["wsgi.input"] = io.BytesIO(body)
        return self._app(environ, start)


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    made = Provider()
    with _threaded_server(app=made, poll_interval=0.01) as server:
        made.issuer = f"http://localhost:{server.server_port}"
        yield made


@pytest.fixture
def settings(provider: Provider) -> dict[str, Any]:
    return {"issuer": provider.issuer, "client_id": "tenure", "client_secret": "known to both"}


@pytest.fixture
async def browser() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient() as made:
        yield made


async def to_provider(http: httpx.AsyncClient, next_: str = "/ui/queues") -> str:
    answer = await http.get("/oidc/login", params={"next": next_})
    assert answer.status_code == 302, answer.text
    return answer.headers["location"]


async def consent(browser: httpx.AsyncClient, address: str, subject: str) -> str:
    """Sign in at the provider as this person; where it sends the browser."""
    answer = await browser.post(address, data={"sub": subject, "action": "authorize"})
    assert answer.status_code == 302, answer.text
    return answer.headers["location"]


async def sign_in(http: httpx.AsyncClient, browser: httpx.AsyncClient, subject: str = "ada@home") -> httpx.Response:
    return await http.get(await consent(browser, await to_provider(http), subject))


def changed(address: str, **parameters: str) -> str:
    parts = urlsplit(address)
    query = dict(parse_qsl(parts.query)) | parameters
    return urlunsplit(parts._replace(query=urlencode(query)))


async def test_a_principal_known_by_issuer_and_subject_signs_in(
    served: Serve, browser: httpx.AsyncClient, settings: dict[str, Any], provider: Provider, ours: Tenure
) -> None:
    ours.create_principal("user:ada", roles=["operator"], oidc_issuer=provider.issuer, oidc_subject="ada@home")
    http = await served(oidc=settings)
    answer = await sign_in(http, browser)
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui/queues")
    cookie = next(c for c in answer.headers.get_list("set-cookie") if c.startswith("tenure_session=")).lower()
    assert "httponly" in cookie
    assert "secure" in cookie
    who = (await http.get(SESSION)).json()
    assert (who["principal"], who["roles"], who["kind"]) == ("user:ada", ["operator"], "SESSION")


async def test_the_flow_is_bound_by_state_nonce_and_pkce(
    served: Serve, browser: httpx.AsyncClient, settings: dict[str, Any], provider: Provider, ours: Tenure
) -> None:
    ours.create_principal("user:ada", roles=["operator"], oidc_issuer=provider.issuer, oidc_subject="ada@home")
    http = await served(oidc=settings)
    address = await to_provider(http)
    asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert asked["redirect_uri"] == "https://tenure.test/oidc/callback"
    assert asked["response_type"] == "code"
    assert asked["code_challenge_method"] == "S256"
    assert len(asked["state"]) > 20
    assert len(asked["nonce"]) > 10
    assert (await http.get(await consent(browser, address, "ada@home"))).status_code == 303
    verifier = provider.exchanged[-1]["code_verifier"]
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    assert challenge == asked["code_challenge"]


async def test_somebody_elses_answer_is_refused(
    served: Serve, browser: httpx.AsyncClient, settings: dict[str, Any], provider: Provider, ours: Tenure
) -> None:
    """An attacker sends a victim the end of the attacker's own sign-in: the victim's browser did not begin it."""
    ours.create_principal("user:eve", roles=["admin"], oidc_issuer=provider.issuer, oidc_subject="eve")
    attacker, victim = await served(oidc=settings), await served(oidc=settings)
    ended = await consent(browser, await to_provider(attacker), "eve")
    await to_provider(victim)
    for http, address in (
        (victim, ended),
        (attacker, changed(ended, state="guessed")),
        (victim, changed(ended, code="x")),
    ):
        answer = await http.get(address)
        assert answer.status_code == 401, answer.text
        assert "tenure_session" not in http.cookies


async def test_an_answer_is_good_once_and_not_for_long(
    served: Serve, browser: httpx.AsyncClient, settings: dict[str, Any], provider: Provider, ours: Tenure
) -> None:
    ours.create_principal("user:ada", roles=["operator"], oidc_issuer=provider.issuer, oidc_subject="ada@home")
    http = await served(oidc=settings)
    ended = await consent(browser, await to_provider(http), "ada@home")
    assert (await http.get(ended)).status_code == 303
    assert (await http.get(ended)).status_code == 401


async def test_a_nonce_that_is_not_ours_is_refused(
    served: Serve, browser: httpx.AsyncClient, settings: dict[str, Any], provider: Provider, ours: Tenure
) -> None:
    ours.create_principal("user:ada", roles=["operator"], oidc_issuer=provider.issuer, oidc_subject="ada@home")
    http = await served(oidc=settings)
    ended = await consent(browser, changed(await to_provider(http), nonce="another"), "ada@home")
    assert (await http.get(ended)).status_code == 401
    assert "tenure_session" not in http.cookies


async def test_who_refuses_at_the_provider_is_not_signed_in(
    served: Serve, browser: httpx.AsyncClient, settings: dict[str, Any]
) -> None:
    http = await served(oidc=settings)
    answer = await browser.post(await to_provider(http), data={"action": "deny"})
    assert (await http.get(answer.headers["location"])).status_code == 401


async def test_the_unknown_have_no_access_unless_they_may_be_created(
    served: Serve, browser: httpx.AsyncClient, settings: dict[str, Any], ours: Tenure, provider: Provider
) -> None:
    answer = await sign_in(await served(oidc=settings), browser, "new@home")
    assert (answer.status_code, answer.json()["detail"]) == (401, "You have no access here.")
    assert ours.principals() == []

    http = await served(oidc={**settings, "create_principals": True})
    assert (await sign_in(http, browser, "new@home")).status_code == 303
    who = (await http.get(SESSION)).json()
    assert who["roles"] == ["observer"]
    assert who["permissions"] == ["read"]
    (made,) = ours.principals()
    assert (made.oidc_issuer, made.oidc_subject) == (provider.issuer, "new@home")
    assert ours.facts(made.uid)[0].actor == "service:sign-in"
    assert (await sign_in(http, browser, "new@home")).status_code == 303
    assert len(ours.principals()) == 1


async def test_a_name_that_is_taken_is_never_taken_over(
    served: Serve, browser: httpx.AsyncClient, settings: dict[str, Any], ours: Tenure
) -> None:
    ours.create_principal("user:root@home", roles=["admin"])
    http = await served(oidc={**settings, "create_principals": True})
    async with httpx.AsyncClient(base_url=settings["issuer"]) as provider:
        await provider.put("/users/someone", json={"email": "root@home", "preferred_username": "root@home"})
    assert (await sign_in(http, browser, "someone")).status_code == 303
    who = (await http.get(SESSION)).json()
    assert who["principal"].startswith("user:root@home-")
    assert who["roles"] == ["observer"]


async def test_a_disabled_principal_has_no_access(
    served: Serve, browser: httpx.AsyncClient, settings: dict[str, Any], provider: Provider, ours: Tenure
) -> None:
    ours.create_principal("user:ada", roles=["operator"], oidc_issuer=provider.issuer, oidc_subject="ada@home")
    ours.disable_principal("user:ada")
    http = await served(oidc={**settings, "create_principals": True})
    assert (await sign_in(http, browser)).status_code == 401


@pytest.mark.parametrize("next_", ["https://evil.test/", "//evil.test", "/\\evil.test", "ui", "/ui\nx: y", ""])
async def test_nobody_is_sent_to_another_site(
    served: Serve, browser: httpx.AsyncClient, settings: dict[str, Any], next_: str
) -> None:
    http = await served(oidc={**settings, "create_principals": True})
    answer = await http.get(await consent(browser, await to_provider(http, next_), "ada@home"))
    assert answer.status_code == 303, answer.text
    assert answer.headers["location"] == "/ui"


async def test_a_provider_that_is_away_is_told_where_people_sign_in(served: Serve) -> None:
    away = {"issuer": "http://localhost:1", "client_id": "tenure", "client_secret": "x"}
    http = await served(oidc=away)
    answer = await http.get("/oidc/login")
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert "localhost" not in answer.text


async def test_the_session_ends_like_any_other(
    served: Serve, browser: httpx.AsyncClient, settings: dict[str, Any], clock: MovableClock
) -> None:
    http = await served(oidc={**settings, "create_principals": True}, session_ttl=600)
    await sign_in(http, browser)
    clock.advance(minutes=10)
    assert (await http.get(SESSION)).status_code == 401
