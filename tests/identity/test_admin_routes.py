"""Admins manage principals and tokens over HTTP (S1 section 10.4; design 06, HTTP API)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from tenure.sdk.client import Tenure
from tenure.sdk.password import password_hash
from tests.api.documented import the_contract

PRINCIPALS, TOKENS, SESSION = "/api/v1/principals", "/api/v1/tokens", "/api/v1/session"
PASSWORD, ANOTHER = "several words in a row", "other words in a row"
Ask = Callable[..., Awaitable[httpx.Response]]


@pytest.fixture
def asking(http: httpx.AsyncClient, ours: Tenure) -> Callable[[str], Ask]:
    """``asking(role)`` gives a function that asks as a principal of that role, and holds answers to the document."""
    contract = the_contract()

    def of(role: str, client: Tenure = ours) -> Ask:
        client.create_principal(f"user:{role}", roles=[role])
        headers = {"Authorization": f"Bearer {client.create_token(f'user:{role}').secret.reveal()}"}

        async def ask(method: str, path: str, **options: Any) -> httpx.Response:
            answer = await http.request(method, path, headers=headers, **options)
            contract.check(answer)
            return answer

        return ask

    return of


@pytest.fixture
def by_admin(asking: Callable[[str], Ask]) -> Ask:
    return asking("admin")


async def test_a_principal_is_made_found_changed_and_disabled(by_admin: Ask) -> None:
    spec = {"name": "user:ada", "roles": ["operator"], "display_name": "Ada L."}
    made = (await by_admin("POST", PRINCIPALS, json=spec)).json()
    assert (made["name"], made["roles"], made["has_password"]) == ("user:ada", ["operator"], False)
    assert (await by_admin("POST", PRINCIPALS, json=spec)).json() == made
    assert (await by_admin("POST", PRINCIPALS, json={"name": "user:ada"})).json()["code"] == "already_exists"
    for reference in ("user:ada", made["euid"]):
        assert (await by_admin("GET", f"{PRINCIPALS}/{reference}")).json() == made
    changed = await by_admin("PATCH", f"{PRINCIPALS}/user:ada", json={"roles": ["observer"], "expected_revision": 1})
    assert changed.json()["roles"] == ["observer"]
    assert changed.json()["display_name"] == "Ada L."
    late = await by_admin("PATCH", f"{PRINCIPALS}/user:ada", json={"roles": [], "expected_revision": 1})
    assert (late.status_code, late.json()["code"]) == (409, "revision_conflict")
    gone = await by_admin("PATCH", f"{PRINCIPALS}/user:ada", json={"status": "DISABLED", "reason": "left"})
    assert gone.json()["status"] == "DISABLED"


async def test_principals_are_listed_in_pages(by_admin: Ask) -> None:
    for n in range(4):
        await by_admin("POST", PRINCIPALS, json={"name": f"service:s{n}"})
    first = (await by_admin("GET", PRINCIPALS, params={"limit": 3})).json()
    second = (await by_admin("GET", PRINCIPALS, params={"limit": 3, "cursor": first["next"]})).json()
    names = [p["name"] for p in first["items"] + second["items"]]
    assert names == ["service:s0", "service:s1", "service:s2", "service:s3", "user:admin"]
    assert second["next"] is None


async def test_a_token_is_made_once_listed_without_its_secret_and_revoked(
    by_admin: Ask, http: httpx.AsyncClient
) -> None:
    await by_admin("POST", PRINCIPALS, json={"name": "service:importer", "roles": ["worker_service", "observer"]})
    asked = {"principal": "service:importer", "label": "nightly", "roles": ["observer"], "lifetime_seconds": 3600}
    issued = (await by_admin("POST", TOKENS, json=asked)).json()
    bearer = {"Authorization": f"Bearer {issued['secret']}"}
    assert (await http.get(SESSION, headers=bearer)).json()["roles"] == ["observer"]

    listed = await by_admin("GET", TOKENS, params={"principal": "service:importer"})
    assert [t["euid"] for t in listed.json()["items"]] == [issued["access_token"]["euid"]]
    assert issued["secret"] not in listed.text

    revoked = await by_admin("DELETE", f"{TOKENS}/{issued['access_token']['euid']}", params={"reason": "lost"})
    assert revoked.json()["revoked_at"] is not None
    assert (await http.get(SESSION, headers=bearer)).status_code == 401
    assert (await by_admin("GET", TOKENS, params={"principal": "service:importer"})).json()["items"] == []
    ended = (await by_admin("GET", TOKENS, params={"principal": "service:importer", "ended": "true"})).json()
    assert len(ended["items"]) == 1


async def test_nobody_makes_a_session_for_somebody_else(by_admin: Ask) -> None:
    """A session is what a person's own sign-in begins."""
    asked = {"principal": "user:admin", "kind": "SESSION"}
    assert (await by_admin("POST", TOKENS, json=asked)).status_code == 400


async def test_a_password_is_set_by_an_admin_and_changed_by_its_owner(
    by_admin: Ask, http: httpx.AsyncClient, ours: Tenure
) -> None:
    await by_admin("POST", PRINCIPALS, json={"name": "user:ada", "roles": ["operator"]})
    assert (await by_admin("PUT", f"{PRINCIPALS}/user:ada/password", json={"password": "short"})).status_code == 400
    given = await by_admin("PUT", f"{PRINCIPALS}/user:ada/password", json={"password": PASSWORD})
    assert given.json()["has_password"]
    assert PASSWORD not in given.text

    own = {"Sec-Fetch-Site": "same-origin"}
    assert (await http.post(SESSION, json={"name": "ada", "password": PASSWORD})).status_code == 200
    wrong = {"present": "not this one at all", "password": ANOTHER}
    assert (await http.put(f"{SESSION}/password", json=wrong, headers=own)).status_code == 403
    before = http.cookies["tenure_session"]
    right = {"present": PASSWORD, "password": ANOTHER}
    assert (await http.put(f"{SESSION}/password", json=right, headers=own)).status_code == 200
    assert http.cookies["tenure_session"] != before
    assert (await http.get(SESSION)).status_code == 200
    assert (await http.get(SESSION, headers={"Authorization": f"Bearer {before}"})).status_code == 401
    assert (await http.post(SESSION, json={"name": "ada", "password": PASSWORD})).status_code == 401


@pytest.mark.parametrize("role", ["observer", "worker_human", "worker_service", "operator"])
async def test_only_admins_may(asking: Callable[[str], Ask], role: str) -> None:
    ask = asking(role)
    tries = [
        await ask("GET", PRINCIPALS), await ask("POST", PRINCIPALS, json={"name": "user:x", "roles": ["admin"]}),
        await ask("GET", f"{PRINCIPALS}/user:{role}"),
        await ask("PATCH", f"{PRINCIPALS}/user:{role}", json={"roles": ["admin"]}),
        await ask("PUT", f"{PRINCIPALS}/user:{role}/password", json={"password": PASSWORD}),
        await ask("GET", TOKENS), await ask("POST", TOKENS, json={"principal": f"user:{role}"}),
        await ask("DELETE", f"{TOKENS}/KX-1T8Z"),
    ]  # fmt: skip
    assert {(t.status_code, t.json()["code"]) for t in tries} == {(403, "forbidden")}


async def test_another_tenants_objects_are_as_unknown_as_none(
    by_admin: Ask, asking: Callable[..., Ask], theirs: Tenure
) -> None:
    eve = theirs.create_principal("user:eve", roles=["admin"])
    token = theirs.create_token("user:eve").access_token
    theirs_, nobodys = (f"UX-{x}" for x in (_euid("UX", eve.uid), _euid("UX", eve.uid + 10**6)))
    for method, body in (("GET", None), ("PATCH", {"roles": []}), ("PUT", {"password": PASSWORD})):
        tail = "/password" if method == "PUT" else ""
        answers = {(await by_admin(method, f"{PRINCIPALS}/{r}{tail}", json=body)).content for r in (theirs_, nobodys)}
        assert len(answers) == 1
    answers = {
        (await by_admin("DELETE", f"{TOKENS}/KX-{_euid('KX', uid)}")).content for uid in (token.uid, token.uid + 10**6)
    }
    assert len(answers) == 1
    assert (await by_admin("GET", f"{PRINCIPALS}/user:eve")).status_code == 404
    assert len((await by_admin("GET", TOKENS)).json()["items"]) == 1
    assert theirs.tokens() == [token]


@pytest.mark.parametrize(
    "body", [{"name": "ada"}, {"name": "user:ada", "roles": ["king"]}, {"name": "user:a", "x": 1}, [], 3]
)
async def test_what_is_no_principal_is_refused(by_admin: Ask, body: Any) -> None:
    assert (await by_admin("POST", PRINCIPALS, json=body)).status_code == 400


def _euid(prefix: str, uid: int) -> str:
    from tenure.model.euid import format_euid

    return format_euid(prefix, uid).partition("-")[2]


def test_hashes_differ_each_time() -> None:
    assert password_hash(PASSWORD) != password_hash(PASSWORD)
