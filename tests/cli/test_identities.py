"""``tenure principal`` and ``tenure token``: the first admin, and what programs prove themselves with."""

import io

import pytest

from tenure import Tenure
from tenure.engine.authentication import authenticate
from tenure.sdk.token import digest_of

PASSWORD = "several words in a row"  # noqa: S105


@pytest.fixture
def typing(monkeypatch):
    """Puts lines on stdin."""

    def put(text):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))

    return put


def test_the_first_admin_is_one_command_and_the_password_is_seen_nowhere(tenure, typing):
    typing(f"{PASSWORD}\n")
    made = tenure("principal", "create", "user:ada", "--role", "admin", "--password", "--display-name", "Ada L.")
    assert made.code == 0, made.err
    assert "sign in at /ui as ada" in made.out
    [listed] = tenure("principal", "list", "--json").lines
    assert (listed["name"], listed["roles"], listed["has_password"]) == ("user:ada", ["admin"], True)
    assert PASSWORD not in made.out + made.err + tenure("principal", "list", "--verbose").out


def test_a_password_that_is_refused_leaves_no_principal_behind(tenure, typing):
    typing("short\n")
    refused = tenure("principal", "create", "user:ada", "--role", "admin", "--password")
    assert refused.code == 1
    assert "12 to 1000 characters" in refused.err
    typing("")
    assert "no password on stdin" in tenure("principal", "create", "user:ada", "--password").err
    assert "tenure principal create user:NAME --role admin --password" in " ".join(
        tenure("principal", "list").out.split()
    )


def test_a_new_tenant_gets_its_first_admin(tenure, typing):
    typing(f"{PASSWORD}\n")
    assert tenure("--tenant", "lab", "principal", "create", "user:ada", "--role", "admin", "--password").code == 0
    assert [p["name"] for p in tenure("--tenant", "lab", "principal", "list", "--json").lines] == ["user:ada"]
    assert tenure("principal", "list", "--json").lines == []
    assert tenure("--tenant", "nowhere", "principal", "list").code == 1


def test_roles_are_shown_set_and_taken_away(tenure):
    tenure("principal", "create", "user:ada", "--role", "observer")
    assert tenure("principal", "roles", "user:ada", "--json").json["roles"] == ["observer"]
    both = tenure("principal", "roles", "user:ada", "operator", "admin", "--reason", "promoted", "--json").json
    assert both["roles"] == ["admin", "operator"]
    assert "may do nothing" in tenure("principal", "roles", "user:ada", "--none").out
    assert tenure("principal", "roles", "user:ada", "admin", "--none").code == 1
    assert tenure("principal", "roles", "user:ada", "king").code == 2


def test_a_principal_is_disabled_and_enabled_and_gets_a_new_password(tenure, typing):
    tenure("principal", "create", "user:ada", "--role", "operator")
    assert tenure("principal", "disable", "user:ada", "--reason", "left", "--json").json["status"] == "DISABLED"
    assert "operator again" in tenure("principal", "enable", "user:ada").out
    typing(f"{PASSWORD}\n")
    assert tenure("principal", "password", "user:ada", "--json").json["has_password"] is True
    assert tenure("principal", "disable", "user:bob").code == 1


def test_a_token_is_printed_once_with_what_to_do_with_it_and_works_until_revoked(tenure, migrated_database):
    tenure("principal", "create", "service:importer", "--role", "worker_service", "--role", "observer")
    made = tenure("token", "create", "service:importer", "--label", "nightly", "--role", "observer")
    secret = made.out.splitlines()[0]
    assert secret.startswith("tenure_")
    assert "not shown again" in made.err
    assert "TENURE_TOKEN" in made.err
    assert made.out == f"{secret}\n"  # so that it can go into a file
    with Tenure(migrated_database) as client:
        found = client.perform(lambda caller: authenticate(caller.store, digest_of(secret)))
    assert (found.actor, sorted(found.roles)) == ("service:importer", ["observer"])

    listed = tenure("token", "list", "service:importer")
    assert "nightly" in listed.out
    assert secret not in listed.out
    [token] = tenure("token", "list", "--json").lines
    assert tenure("token", "revoke", token["euid"], "--reason", "lost", "--json").json["revoked_at"]
    assert "There are no access tokens" in tenure("token", "list").out
    assert "revoked" in tenure("token", "list", "--all").out


def test_a_token_as_json_has_its_secret_in_one_document(tenure):
    tenure("principal", "create", "service:importer", "--role", "worker_service")
    document = tenure("token", "create", "service:importer", "--expires", "+1h", "--json").json
    assert document["secret"].startswith("tenure_")
    assert "secret" not in document["access_token"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("token", "create", "service:nobody"), "no such principal"),
        (("token", "create", "service:importer", "--role", "admin"), "does not have the role admin"),
        (("token", "create", "service:importer", "--expires", "+5s"), "less than a minute"),
        (("token", "create", "service:importer", "--expires", "soon"), "is not a time"),
        (("token", "create", "service:importer", "--expires", "9999-12-31T00:00Z"), "less than or equal to"),
        (("token", "revoke", "KX-1T8Z"), "no such token"),
        (("principal", "create", "ada"), "name"),
        (("principal", "create", "user:ada", "--oidc-issuer", "https://id.example"), "belong together"),
    ],
)
def test_mistakes_are_told_in_a_sentence(tenure, arguments, told):
    tenure("principal", "create", "service:importer", "--role", "worker_service")
    answer = tenure(*arguments)
    assert answer.code == 1
    assert told in answer.err
    assert "Traceback" not in answer.err


def test_up_says_how_the_first_admin_is_made_until_there_is_one(tenure):
    told = tenure("up").out
    assert "tenure principal create user:NAME --role admin --password" in told
    assert tenure("principal", "create", "user:ada", "--role", "admin").code == 0
    assert "Nobody can sign in" not in tenure("up").out
