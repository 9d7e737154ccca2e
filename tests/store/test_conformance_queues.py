"""Which subjects a queue shows and in which order, and who may claim them (S1 sections 3.1 to 3.5)."""

from __future__ import annotations

from tenure.testing.store_contract import contract

globals().update(contract("queues"))
