"""The demonstration on a real Slurm: ``make demo-hpc``."""
