"""The one hierarchy of errors (design 01, The actions)."""

from __future__ import annotations

import pytest

from tenure.model import errors
from tenure.model.errors import TenureError

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, TenureError)]

#: Codes are a promise to clients: what is here stays.
CODES = {
    "error": 500, "invalid_request": 400, "invalid_euid": 400, "naive_datetime": 400, "invalid_payload": 422,
    "forbidden_key": 422, "payload_too_large": 413, "not_found": 404, "queue_unknown": 404, "forbidden": 403,
    "conflict": 409, "already_exists": 409, "invalid_transition": 409, "state_conflict": 409, "revision_conflict": 409,
    "seq_conflict": 409, "idempotency_conflict": 409, "lease_expired": 409, "stale_lease": 409, "worker_superseded": 409,
    "not_claimable": 409, "queue_disabled": 409, "queue_manual_only": 403, "capability_mismatch": 403,
    "scope_mismatch": 403, "worker_not_accepting": 409, "worker_at_limit": 409, "subject_busy": 409, "template_not_served": 422,
    "law_violation": 409, "store_unavailable": 503, "schema_changed": 503,
}  # fmt: skip


def test_codes_and_statuses_are_stable() -> None:
    assert {kind.code: kind.status for kind in KINDS}.items() >= CODES.items()


def test_no_two_errors_share_a_code() -> None:
    assert len({kind.code for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_says_what_happened_and_what_to_do_and_why(kind: type[TenureError]) -> None:
    error = kind("It happened.", "Do this.", found=3)
    assert str(error) == "It happened. Do this."
    assert error.as_dict() == {
        "code": kind.code, "message": "It happened.", "hint": "Do this.", "evidence": {"found": 3},
    }  # fmt: skip


def test_an_error_without_advice_ends_with_what_happened() -> None:
    assert str(TenureError("It happened.")) == "It happened."
