"""For every test of the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tenure.model.errors import TenureError
from tests.model.sentences import is_advice, is_message


@pytest.fixture(autouse=True)
def every_refusal_says_what_happened_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a test is about: no error of the model is without a sentence, nor without advice (design 01)."""
    raised: dict[tuple[str, Any, Any], None] = {}
    begin = TenureError.__init__

    def noting(self: TenureError, message: str, hint: str = "", **evidence: Any) -> None:
        if type(self).__module__ == TenureError.__module__ and type(self) is not TenureError:
            raised[type(self).__name__, message, hint] = None
        begin(self, message, hint, **evidence)

    monkeypatch.setattr(TenureError, "__init__", noting)
    yield
    unreadable = [told for told in raised if not (is_message(told[1]) and is_advice(told[2]))]
    assert not unreadable, unreadable
