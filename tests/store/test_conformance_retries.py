"""Retries: when an attempt is followed by another, and what counts as one."""

from __future__ import annotations

from tenure.testing.store_contract import contract

globals().update(contract("retries"))
