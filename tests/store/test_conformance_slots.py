"""Slots: subjects that several workers take, each once."""

from __future__ import annotations

from tenure.testing.store_contract import contract

globals().update(contract("slots"))
