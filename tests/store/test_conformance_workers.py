"""Workers: one for each key, their status, their incarnations (S1 sections 2.3, 5.2 and 5.3)."""

from __future__ import annotations

from tenure.testing.store_contract import contract

globals().update(contract("workers"))
