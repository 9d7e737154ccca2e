"""Samples of the metrics: who takes them, how long they are kept, and how they are read back."""

from __future__ import annotations

from tenure.testing.store_contract import contract

globals().update(contract("samples"))
