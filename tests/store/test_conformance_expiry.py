"""Expiry: how long a lease lasts, and what becomes of work whose lease has lapsed."""

from __future__ import annotations

from tenure.testing.store_contract import contract

globals().update(contract("expiry"))
