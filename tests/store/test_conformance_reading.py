"""Reading back: history, the envelope as it was, lists, and a clean verification (design 01, Reading and Verify)."""

from __future__ import annotations

from tenure.testing.store_contract import contract

globals().update(contract("reading"))
