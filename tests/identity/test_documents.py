"""What docs/explanation/security.md and the how-to say is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tenure.api.settings import ServerSettings
from tenure.model.principal import AccessTokenSpec
from tenure.model.roles import GRANTS, Permission, Role
from tenure.sdk.password import SHORTEST

_DOCS = Path(__file__).parents[2] / "docs"
SECURITY = (_DOCS / "explanation" / "security.md").read_text(encoding="utf-8")
HOW_TO = (_DOCS / "how-to" / "let-people-in.md").read_text(encoding="utf-8")
COLUMNS = (Permission.READ, Permission.SUBMIT, Permission.WORK, Permission.OPERATE, Permission.ADMINISTER)


@pytest.mark.parametrize("role", Role)
def test_the_table_of_roles_is_that_of_the_code(role: Role) -> None:
    (line,) = [line for line in SECURITY.splitlines() if line.startswith(f"| `{role}` |")]
    cells = [cell.strip() for cell in line.split("|")[2:-1]]
    # To act for one's own node is no column: one role does nothing else.
    assert {p for p, cell in zip(COLUMNS, cells, strict=True) if cell == "yes"} == GRANTS[role] - {Permission.EXECUTE}


def test_the_figures_are_those_of_the_code() -> None:
    settings = ServerSettings(dsn="postgresql://unused")
    assert f"{settings.session_ttl // 3600} hours" in SECURITY
    assert f"{settings.rate_per_second:.0f} a second and {settings.rate_burst} at once" in SECURITY
    assert (
        f"{settings.sign_in_burst} failures in a row for a name, {4 * settings.sign_in_burst} for an address"
        in SECURITY
    )
    assert f"then {settings.sign_in_per_minute:.0f} a minute" in SECURITY
    assert f"{AccessTokenSpec().lifetime_seconds // 86400} days" in SECURITY
    assert f"{SHORTEST} characters at least" in HOW_TO


def test_the_commands_of_the_how_to_are_there() -> None:
    from typer.main import get_command

    from tenure.cli.application import application

    groups = get_command(application).commands  # type: ignore[attr-defined]
    used = re.findall(r"tenure (?:--tenant \w+ )?(principal|token) (\w+)", HOW_TO)
    assert used
    assert [(group, name) for group, name in used if name not in groups[group].commands] == []
