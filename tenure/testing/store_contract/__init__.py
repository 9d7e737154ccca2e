"""The contract of ``tenure.store.port.Store``, to be run on every store (design 01, Store).

Write a test module that takes the tests over, and give them the fixture ``bench``, a ``Bench`` over your store with a
tenant of its own for each test::

    from tenure.testing.store_contract import Bench, contract

    globals().update(contract())

    @pytest.fixture
    def bench():
        store = MyStore()
        return Bench("mine", store, drive=store.run, set_clock=store.at)

``drive(make)`` runs the operation ``make()`` to its result, in a transaction, anew where it has to be repeated.
``set_clock(now)`` sets the clock that the store tells. A store with connections gives ``beside``, too: a context manager
that opens the same tenant for another thread. ``memory_bench`` shows all of it on the memory store.

What the contract asks for is told by the modules, which can be taken one by one: ``contract("fencing")``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

#: What the contract is about, a module each.
PARTS = (
    "bad_input",
    "dead_letters",
    "expiry",
    "fencing",
    "guards",
    "holds",
    "idempotency",
    "identity",
    "principals",
    "queues",
    "races",
    "reading",
    "retries",
    "rounds",
    "samples",
    "searching",
    "slots",
    "transitions",
    "workers",
)

for _part in (*PARTS, "bench", "dump"):
    pytest.register_assert_rewrite(f"{__name__}.{_part}")

from tenure.testing.store_contract.bench import NOON, Bench, memory_bench  # noqa: E402 - rewritten, as the line above asks

__all__ = ["NOON", "PARTS", "Bench", "contract", "memory_bench"]


def contract(*parts: str) -> dict[str, Any]:
    """The tests of these parts (all by default), with the fixtures that they need, by name; for a module's ``globals()``."""
    taken: dict[str, Any] = {}
    for part in parts or PARTS:
        module = import_module(f"{__name__}.{part}")
        for name, value in vars(module).items():
            if name.startswith("test_") or type(value).__name__ == "FixtureFunctionDefinition":
                if name in taken:
                    raise RuntimeError(f"{part} has a second {name}")
                taken[name] = value
    return taken
