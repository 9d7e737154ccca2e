"""Every action under an idempotency key: again the same bytes, or a conflict that changes nothing (S1 section 7.3)."""

from __future__ import annotations

from tenure.testing.store_contract import contract

globals().update(contract("idempotency"))
