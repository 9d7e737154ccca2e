"""Dead letters: what gave up, and what a person does about it."""

from __future__ import annotations

from tenure.testing.store_contract import contract

globals().update(contract("dead_letters"))
