"""The same request from several at the same moment: done once, and everyone gets an answer."""

from __future__ import annotations

from tenure.testing.store_contract import contract

globals().update(contract("races"))
