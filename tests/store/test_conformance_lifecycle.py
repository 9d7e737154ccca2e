"""Holds, cancellations, retries, dead letters, expiry and slots: what becomes of a subject and of its records."""

from __future__ import annotations

from tenure.testing.store_contract import contract

globals().update(contract("lifecycle"))
