"""The reference of workflow definitions says all that there is, and what it shows works."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import tenure.flow.model
from tenure.flow.model.condition import Condition
from tenure.flow.model.paths import ROOTS, RUN_FIELDS
from tenure.flow.model.reading import from_toml
from tenure.flow.model.steps import PERFORMERS

SOURCE = Path(tenure.flow.model.__file__).parent
REFERENCE = (SOURCE.parents[2] / "docs/reference/workflows.md").read_text()


def codes(call: str, *files: str) -> set[str]:
    """The first arguments of every call of that name: the stable codes."""
    found = set()
    for file in files:
        for path in SOURCE.glob(file):
            for node in ast.walk(ast.parse(path.read_text())):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Name)
                    and node.func.id == call
                    and node.args
                ):
                    first = node.args[0]
                    found |= {first.value.partition(":")[0]} if isinstance(first, ast.Constant) else set()
    return found


@pytest.mark.parametrize(
    ("call", "files"),
    [("Problem", ("validation/*.py", "reading.py")), ("Anomalous", ("fold*.py",)), ("Reason", ("explain*.py",)),
     ("CannotStart", ("decisions/*.py",))],
)  # fmt: skip
def test_every_code_is_in_the_reference(call: str, files: tuple[str, ...]) -> None:
    found = codes(call, *files)
    assert len(found) > 2
    assert not {code for code in found if f"`{code}`" not in REFERENCE}


def test_every_performer_operator_and_path_is_in_the_reference() -> None:
    operators = re.findall(r"'(\w+)'", str(Condition.model_fields["op"].annotation))
    assert len(operators) == 13
    words = {*PERFORMERS, *operators, *RUN_FIELDS}
    assert not {word for word in words if f"`{word}`" not in REFERENCE}
    assert not {root for root in ROOTS if f"`$.{root}" not in REFERENCE}


def test_what_it_shows_in_toml_and_in_python_is_the_same_definition() -> None:
    (toml,) = re.findall(r"```toml\n(.*?)```", REFERENCE, re.DOTALL)
    (python,) = re.findall(r"```python\n(.*?)```", REFERENCE, re.DOTALL)
    names: dict[str, object] = {}
    exec(python, names)  # noqa: S102
    assert from_toml(toml) == names["order"]
