"""One real Slurm for all tests of a process: ``make test-hpc``. It is in a folder of its own and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.demo.hpc.slurm import SlurmCluster, missing_programs

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.hpc)


@pytest.fixture(scope="session")
def slurm(short_folder: Path) -> Iterator[SlurmCluster]:
    """A Slurm that all tests share. Partitions: ``tenure.demo.hpc.slurm.site``; a test that stops it makes its own."""
    missing = missing_programs()
    if missing:
        pytest.skip(f"Slurm is not installed: {', '.join(missing)} (Debian, as root: tools/system-packages.sh)")
    with SlurmCluster(short_folder / "slurm") as cluster:
        yield cluster


@pytest.fixture
def on_slurm(slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> SlurmCluster:
    """The shared Slurm, with the environment set so that its programs, run from here, find it."""
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    return slurm
