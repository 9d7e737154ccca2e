"""Identity: one face for every object, references of its own, tenants apart (design 01, Identity)."""

from __future__ import annotations

from tenure.testing.store_contract import contract

globals().update(contract("identity"))
