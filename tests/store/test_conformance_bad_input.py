"""What is wrong with a request is told by a stable code and a sentence, and nothing is changed."""

from __future__ import annotations

from tenure.testing.store_contract import contract

globals().update(contract("bad_input"))
