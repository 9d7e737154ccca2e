"""The adapter keeps the contract of all schedulers, on a real Slurm through real CalcJobs."""

from __future__ import annotations

import pytest

from tenure.testing.scheduler_contract import SchedulerContract
from tests.hpc.with_aiida.bench import AiidaBench


class TestAiidaOnSlurm(SchedulerContract):
    @pytest.fixture
    def bench(self, aiida_bench: AiidaBench) -> AiidaBench:
        return aiida_bench
