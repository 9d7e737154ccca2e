"""The Slurm adapter keeps the contract of schedulers, on a real Slurm."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenure.demo.hpc.slurm import SlurmCluster
from tenure.testing.scheduler_contract import SchedulerContract
from tests.hpc.bench import SlurmBench


class TestSlurmScheduler(SchedulerContract):
    @pytest.fixture
    def bench(self, on_slurm: SlurmCluster, tmp_path: Path) -> SlurmBench:
        return SlurmBench(on_slurm, tmp_path)
