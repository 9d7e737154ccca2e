"""The pure half of workflows imports nothing that could read a clock, a file or a database."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import tenure.flow.model

ROOT = Path(tenure.flow.model.__file__).parent
#: cronsim works out when a cron line falls due, from a moment that it is given.
ALLOWED = ("tenure.model", "tenure.flow.model", "pydantic", "cronsim")
IMPURE = {"os", "io", "socket", "subprocess", "time", "random", "secrets", "threading", "asyncio", "pathlib", "uuid"}


@pytest.mark.parametrize("file", sorted(ROOT.rglob("*.py")), ids=lambda f: str(f.relative_to(ROOT)))
def test_it_imports_nothing_but_what_is_pure(file: Path) -> None:
    tree = ast.parse(file.read_text())
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    strange = [n for n in names if not n.startswith(ALLOWED) and n.partition(".")[0] not in sys.stdlib_module_names]
    impure = [n for n in names if n.partition(".")[0] in IMPURE]
    assert strange + impure == []


@pytest.mark.parametrize("file", sorted(ROOT.rglob("*.py")), ids=lambda f: str(f.relative_to(ROOT)))
def test_it_never_asks_what_time_it_is(file: Path) -> None:
    calls = [node.func.attr for node in ast.walk(ast.parse(file.read_text()))
             if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]  # fmt: skip
    assert not {"now", "utcnow", "today"} & set(calls)
