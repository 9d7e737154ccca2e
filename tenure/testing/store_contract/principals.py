"""Principals and access tokens, on every store (design 06, HTTP API; S1 section 10.4)."""

from __future__ import annotations

import pytest

from tenure.engine.authentication import authenticate
from tenure.model.errors import (
    AlreadyExists,
    InvalidRequest,
    InvalidTransition,
    NotFound,
    RevisionConflict,
    Unauthenticated,
)
from tenure.model.principal import Identity, PrincipalStatus, TokenKind
from tenure.model.roles import Permission, Role
from tenure.sdk.operations import IssuedToken
from tenure.sdk.public_form import public
from tenure.sdk.token import Token
from tenure.testing.store_contract.bench import Bench

DAY = 86400
PASSWORD = "a horse, a battery"  # nosec B105


def identity(bench: Bench, issued: IssuedToken) -> Identity:
    return bench.run(authenticate(bench.store, issued.secret.digest))


def refused(bench: Bench, issued: IssuedToken) -> str:
    with pytest.raises(Unauthenticated) as caught:
        identity(bench, issued)
    return str(caught.value)


@pytest.fixture
def ada(bench: Bench) -> str:
    bench.create_principal("user:ada", roles=["operator", "observer"], display_name="Ada L.")
    return "user:ada"


def test_a_token_proves_its_principal_with_the_principals_roles(bench: Bench, ada: str) -> None:
    issued = bench.create_token(ada, label="laptop")
    found = identity(bench, issued)
    assert (found.actor, found.tenant, found.tenant_key) == (ada, bench.tenant, bench.caller.tenant_key)
    assert found.roles == {Role.OPERATOR, Role.OBSERVER}
    assert Permission.OPERATE in found.permissions
    assert found.token is not None
    assert found.token.label == "laptop"


def test_a_token_may_carry_fewer_roles_and_never_more(bench: Bench, ada: str) -> None:
    assert identity(bench, bench.create_token(ada, roles=["observer"])).roles == {Role.OBSERVER}
    assert isinstance(bench.error(bench.create_token, ada, roles=["admin"]), InvalidRequest)


def test_a_role_taken_away_is_gone_from_tokens_too(bench: Bench, ada: str) -> None:
    of_all, of_one = bench.create_token(ada), bench.create_token(ada, roles=["operator"])
    bench.change_principal(ada, roles=["observer"])
    assert identity(bench, of_all).roles == {Role.OBSERVER}
    assert identity(bench, of_one).roles == frozenset()


def test_unknown_expired_revoked_and_disabled_are_told_in_the_same_words(bench: Bench, ada: str) -> None:
    unknown = IssuedToken(bench.create_token(ada).access_token, Token.access())
    short = bench.create_token(ada, lifetime_seconds=60)
    revoked = bench.create_token(ada)
    bench.revoke_token(revoked.access_token, reason="lost")
    good = bench.create_token(ada)
    bench.later(60)
    said = {refused(bench, issued) for issued in (unknown, short, revoked)}
    assert identity(bench, good).actor == ada
    bench.disable_principal(ada)
    said.add(refused(bench, good))
    assert len(said) == 1
    bench.enable_principal(ada)
    assert identity(bench, good).actor == ada


def test_a_token_proves_until_the_moment_it_expires(bench: Bench, ada: str) -> None:
    issued = bench.create_token(ada, lifetime_seconds=60)
    bench.later(59)
    assert identity(bench, issued).actor == ada
    bench.later(1)
    assert refused(bench, issued)


def test_that_a_token_was_used_is_noted_at_most_once_a_minute(bench: Bench, ada: str) -> None:
    issued = bench.create_token(ada)
    first = bench.later(5)
    identity(bench, issued)
    bench.later(59)
    identity(bench, issued)
    (noted,) = bench.tokens(ada)
    assert noted.last_used_at == first
    second = bench.later(1)
    identity(bench, issued)
    (noted,) = bench.tokens(ada)
    assert noted.last_used_at == second


def test_the_secret_is_in_the_answer_and_nowhere_else(bench: Bench, ada: str) -> None:
    issued = bench.create_token(ada)
    assert issued.secret.reveal().startswith("tenure_")
    told = repr(issued) + repr(public(issued.access_token)) + repr(bench.tokens(ada)) + repr(bench.principals_all())
    told += repr(bench.facts(issued.access_token.principal))
    assert issued.secret.reveal() not in told
    assert issued.secret.digest.hex() not in told


def test_revoking_again_changes_nothing(bench: Bench, ada: str) -> None:
    token = bench.create_token(ada).access_token
    once = bench.revoke_token(token)
    bench.later(10)
    assert bench.revoke_token(token).revoked_at == once.revoked_at
    assert bench.types(token.principal)[-2:] == ["access_token.created", "access_token.revoked"]


def test_tokens_are_listed_newest_first_in_pages(bench: Bench, ada: str) -> None:
    bench.create_principal("service:importer", roles=["worker_service"])
    uids = [bench.create_token(ada, label=str(n)).access_token.uid for n in range(5)]
    other = bench.create_token("service:importer").access_token.uid
    assert [t.uid for t in bench.tokens()] == [other, *reversed(uids)]
    page = bench.tokens(ada, limit=2)
    assert [t.uid for t in page] == [uids[4], uids[3]]
    assert [t.uid for t in bench.tokens(ada, limit=2, before=page[-1].uid)] == [uids[2], uids[1]]
    bench.revoke_token(uids[0])
    assert uids[0] not in [t.uid for t in bench.tokens(ada)]
    assert uids[0] in [t.uid for t in bench.tokens(ada, usable=False)]


def test_a_disabled_principal_gets_no_token(bench: Bench, ada: str) -> None:
    bench.disable_principal(ada)
    assert isinstance(bench.error(bench.create_token, ada), InvalidTransition)


def test_the_same_principal_again_changes_nothing_and_another_of_that_name_is_refused(bench: Bench, ada: str) -> None:
    again = bench.create_principal(ada, roles=["observer", "operator", "operator"], display_name="Ada L.")
    assert again.seq == 1
    assert isinstance(bench.error(bench.create_principal, ada, roles=["admin"]), AlreadyExists)


def test_a_change_tells_which_roles_and_which_fields_but_no_names_of_people(bench: Bench, ada: str) -> None:
    changed = bench.change_principal(ada, roles=["admin"], display_name="Ada Lovelace", reason="promoted")
    assert (changed.roles, changed.revision, changed.seq) == ((Role.ADMIN,), 2, 2)
    told = bench.facts(changed.uid)[-1]
    assert told.data == {"set": {"roles": ["admin"]}, "fields": ["display_name", "roles"], "reason": "promoted"}
    assert bench.change_principal(ada, roles=["admin"]).seq == 2


def test_a_change_of_what_was_changed_meanwhile_is_refused(bench: Bench, ada: str) -> None:
    bench.change_principal(ada, roles=["admin"])
    assert isinstance(bench.error(bench.change_principal, ada, roles=[], expected_revision=1), RevisionConflict)


def test_an_outside_identity_belongs_to_one_principal(bench: Bench, ada: str) -> None:
    outside = {"oidc_issuer": "https://id.example", "oidc_subject": "42"}
    bench.change_principal(ada, **outside)
    assert isinstance(bench.error(bench.create_principal, "user:bob", **outside), AlreadyExists)
    assert isinstance(bench.error(bench.create_principal, "user:bob", oidc_issuer="https://id.example"), InvalidRequest)


def test_a_password_is_kept_as_argon2id_and_ends_sessions(bench: Bench, ada: str) -> None:
    session = bench.create_token(ada, kind=TokenKind.SESSION)
    api = bench.create_token(ada)
    assert bench.set_password(ada, PASSWORD).has_password
    assert refused(bench, session)
    assert identity(bench, api).actor == ada
    found = bench.run(bench.store.signing_in(bench.caller.tenant_key, ada))
    assert found is not None
    assert found[1].startswith("$argon2id$")
    assert PASSWORD not in repr(bench.facts(found[0].principal.uid))
    assert isinstance(bench.error(bench.set_password, ada, "short"), InvalidRequest)


def test_the_disabled_are_not_found_when_they_sign_in(bench: Bench, ada: str) -> None:
    bench.set_password(ada, PASSWORD)
    disabled = bench.disable_principal(ada)
    assert disabled.status is PrincipalStatus.DISABLED
    assert bench.run(bench.store.signing_in(bench.caller.tenant_key, ada)) is None
    assert bench.run(bench.store.signing_in("nowhere", ada)) is None


def test_who_signs_in_elsewhere_is_found_by_issuer_and_subject(bench: Bench, ada: str) -> None:
    def found(subject: str) -> object:
        return bench.run(bench.store.signed_in_elsewhere(bench.caller.tenant_key, "https://id.example", subject))

    changed = bench.change_principal(ada, oidc_issuer="https://id.example", oidc_subject="42")
    tenant, proved = found("42")  # type: ignore[misc]
    assert (tenant, proved.principal.uid) == (bench.tenant, changed.uid)
    assert found("43") == (bench.tenant, None)
    assert bench.run(bench.store.signed_in_elsewhere("nowhere", "https://id.example", "42")) is None


def test_no_tenant_sees_or_changes_anothers_principals_and_tokens(bench: Bench, ada: str) -> None:
    token = bench.create_token(ada).access_token
    other = bench.other_tenant(f"{bench.caller.tenant_key}-other")
    assert other.principals_all() == other.tokens() == []
    for attempt in (
        lambda: other.principal(token.principal), lambda: other.principal(ada), lambda: other.revoke_token(token.uid),
        lambda: other.change_principal(token.principal, roles=[]), lambda: other.create_token(token.principal),
        lambda: other.set_password(token.principal, PASSWORD),
    ):  # fmt: skip
        assert isinstance(other.error(attempt), NotFound)
    other.create_principal(ada, roles=["observer"])
    assert bench.principal(ada).roles == (Role.OBSERVER, Role.OPERATOR)


def test_the_threads_of_principals_are_verified(bench: Bench, ada: str) -> None:
    before = bench.verify().owners
    bench.create_principal("user:bob", roles=[])
    bench.set_password(ada, PASSWORD)
    bench.revoke_token(bench.create_token(ada).access_token)
    bench.create_token("user:bob")
    report = bench.verify()
    assert report.clean, report.first
    assert report.owners == before + 1


@pytest.mark.parametrize("name", ["ada", "user:", "robot:x", "user:a b", "user:-x", "user:" + "a" * 200])
def test_names_of_principals_say_what_they_are(bench: Bench, name: str) -> None:
    assert isinstance(bench.error(bench.create_principal, name), InvalidRequest)
