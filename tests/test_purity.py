"""The pure cores import nothing that could read a clock, a file or a database, and never ask for chance or time."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import tenure

ROOT = Path(tenure.__file__).parent
#: What each may import beside the standard library: cronsim works out when a cron line falls due, from a moment that it is given.
CORES = {
    "model": ("tenure.model", "pydantic"),
    "flow/model": ("tenure.model", "tenure.flow.model", "pydantic", "cronsim"),
    "remote/model": ("tenure.model", "tenure.remote.model", "pydantic"),
}
IMPURE = {"os", "io", "socket", "subprocess", "time", "random", "secrets", "threading", "asyncio", "pathlib", "uuid"}
#: An identity that is worked out from a name is the same each time.
PURE = {"uuid.UUID", "uuid.uuid5"}
FILES = [(core, file) for core in CORES for file in sorted((ROOT / core).rglob("*.py"))]


def _name(value: Path | str) -> str:
    return value.name if isinstance(value, Path) else value


def _imported(tree: ast.Module) -> list[str]:
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return names + [f"{node.module}.{alias.name}" for node in froms for alias in node.names]


@pytest.mark.parametrize(("core", "file"), FILES, ids=_name)
def test_it_imports_nothing_but_what_is_pure(core: str, file: Path) -> None:
    names = _imported(ast.parse(file.read_text()))
    strange = [n for n in names if not n.startswith(CORES[core]) and n.partition(".")[0] not in sys.stdlib_module_names]
    impure = [n for n in names if n.partition(".")[0] in IMPURE and n not in PURE]
    assert strange + impure == []


@pytest.mark.parametrize(("core", "file"), FILES, ids=_name)
def test_it_never_asks_what_time_it_is(core: str, file: Path) -> None:
    calls = [node.func.attr for node in ast.walk(ast.parse(file.read_text()))
             if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]  # fmt: skip
    assert not {"now", "utcnow", "today"} & set(calls)
