"""The statement files as the driver gets them: by names, or by numbers."""

from __future__ import annotations

import re

import pytest

from tenure.store.postgres.statements import names, numbered, text


@pytest.mark.parametrize("name", names())
def test_a_numbered_statement_asks_for_the_same_in_the_order_of_its_names(name: str) -> None:
    sql, order = numbered(name)

    assert re.sub(r"\$(\d+)", lambda number: f"%({order[int(number[1]) - 1]})s", sql) == text(name).replace("%%", "%")
    assert len(set(order)) == len(order)
    assert "%(" not in sql
