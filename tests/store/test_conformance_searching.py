"""What operators look for: items that fit, subjects by what is known of them, leases by status, what waits in a queue."""

from __future__ import annotations

from tenure.testing.store_contract import contract

globals().update(contract("searching"))
