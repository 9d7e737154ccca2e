"""What can go wrong with a Slurm of our own."""

from __future__ import annotations

from tenure.model.errors import TenureError


class SlurmTrouble(TenureError):
    """It did not start, or a command of it failed."""

    code = "slurm_trouble"
    status = 503


class SlurmMissing(SlurmTrouble):
    """Slurm's programs are not installed."""

    code = "slurm_missing"
