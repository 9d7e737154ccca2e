"""Who may act under a lease: its holder, with its token, while it lasts (design 01, Fencing)."""

from __future__ import annotations

from tenure.testing.store_contract import contract

globals().update(contract("fencing"))
