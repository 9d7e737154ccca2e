"""expected_state, expected_revision and expected_seq; and set forms, where each request has an answer of its own."""

from __future__ import annotations

from tenure.testing.store_contract import contract

globals().update(contract("guards"))
