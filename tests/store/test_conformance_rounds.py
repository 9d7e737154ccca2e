"""What is done again: renewing without a key, and a second round of a subject with several slots."""

from __future__ import annotations

from tenure.testing.store_contract import contract

globals().update(contract("rounds"))
