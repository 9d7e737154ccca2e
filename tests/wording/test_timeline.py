"""What a history says of requests that changed nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from tenure.store.records import RefusalRow, Refused
from tenure.ui.screens.paging import ThreadPages
from tenure.ui.screens.story import of_subject
from tenure.wording.timeline import entries


def asked(code: str) -> Any:
    """The history of a subject with one request that changed nothing."""
    refused = Refused(code, "complete_queue_execution", "worker:w", "")
    return SimpleNamespace(facts=[], attempts=[], refusals=[RefusalRow(datetime(2026, 1, 1, tzinfo=UTC), refused)])


@pytest.mark.parametrize(
    ("code", "kind", "what", "tone"),
    [
        ("lease_expired", "refused", "complete_queue_execution: lease_expired", "refused"),
        ("idempotent_replay", "repeated", "complete_queue_execution, answered from before", None),
    ],
)
def test_what_was_answered_from_before_was_not_refused(code: str, kind: str, what: str, tone: str | None) -> None:
    (entry,) = entries(asked(code), {})
    assert (entry.type, entry.what, entry.by, entry.seq) == (kind, what, "worker:w", None)
    (row,) = of_subject(asked(code), {}, ThreadPages())
    assert (row["type"], row["what"], row["tone"]) == (kind, what, tone)
