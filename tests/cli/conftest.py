"""Runs the command in this process, as a user would type it, against a fresh migrated database."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tenure.cli import main


@dataclass(frozen=True)
class Answer:
    """What the command did: exit status, stdout, stderr."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TENURE_DSN", "TENURE_TENANT", "TENURE_ACTOR", "TENURE_HOME", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def typed(clean_environment: None) -> Callable[..., Answer]:
    """Runs a command line without any database: ``typed("queue", "list")``."""

    def run(*arguments: str) -> Answer:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(list(arguments))
        return Answer(int(code), out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def tenure(
    typed: Callable[..., Answer], migrated_database: str, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Answer]:
    """Runs a command line on a fresh migrated database."""
    monkeypatch.setenv("TENURE_DSN", migrated_database)
    monkeypatch.setenv("TENURE_ACTOR", "user:tester")
    return typed


@pytest.fixture
def submitted(tenure: Callable[..., Answer]) -> str:
    """The EUID of a subject that waits in the queue ``thumbs``."""
    assert tenure("queue", "define", "thumbs").code == 0
    answer = tenure("subject", "submit", "--queue", "thumbs", "--ref", "R-1", "--name", "cat", "--json")
    return str(answer.json["subject"])
