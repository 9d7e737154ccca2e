"""Principals and access tokens, on every store (design 06, HTTP API; S1 section 10.4)."""

from __future__ import annotations

from tenure.testing.store_contract import contract

globals().update(contract("principals"))
