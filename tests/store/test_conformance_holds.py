"""Holds and cancellations: what stops work, and what becomes of the work under way."""

from __future__ import annotations

from tenure.testing.store_contract import contract

globals().update(contract("holds"))
