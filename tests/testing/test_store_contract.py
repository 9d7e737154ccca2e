"""The contract of stores as others take it: all of it at once, and a store that breaks it is found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tenure.testing.store_contract import PARTS, contract

CONTRACT = """
import pytest
from tenure.store.memory import MemoryStore, StandingClock
from tenure.store.operation import run_pure
from tenure.testing.store_contract import NOON, Bench, contract

globals().update(contract({parts}))


class Forgetful(MemoryStore):
    def holds(self, tenant, *, active_only=True, limit=100, before=None, queue_key=None):
        return super().holds(tenant, active_only=True, limit=limit, before=before, queue_key=queue_key)


@pytest.fixture
def bench():
    clock = StandingClock(NOON)
    return Bench("mine", {store}(clock), lambda make: run_pure(make()), lambda now: setattr(clock, "now", now))
"""


def run(folder: Path, store: str, parts: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_mine.py").write_text(CONTRACT.format(store=store, parts=parts))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-x", str(folder)]
    return subprocess.run(command, cwd=folder, env=os.environ, capture_output=True, text=True, timeout=100, check=False)


def test_parts_can_be_taken_one_by_one_or_all_together() -> None:
    each = [contract(part) for part in PARTS]

    assert all(any(name.startswith("test_") for name in part) for part in each)
    assert sum(map(len, each)) == len(contract())


def test_another_store_is_proved_in_a_project_of_its_own(tmp_path: Path) -> None:
    done = run(tmp_path, "MemoryStore", "'guards', 'reading', 'rounds'")

    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_a_store_that_breaks_the_contract_fails_in_words(tmp_path: Path) -> None:
    done = run(tmp_path, "Forgetful", "")

    assert done.returncode == 1, done.stdout + done.stderr
    assert "holds" in done.stdout
