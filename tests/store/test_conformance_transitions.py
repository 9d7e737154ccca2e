"""S1 section 4.3 cell by cell: what each action makes of a subject in each state, or how it is refused."""

from __future__ import annotations

from tenure.testing.store_contract import contract

globals().update(contract("transitions"))
