"""A real Slurm in a folder of its own, for demonstrations and tests: no service, no account, nothing outside the folder.

By hand, with Debian's packages munge, slurmctld, slurmd, slurm-client and slurm-wlm-basic-plugins::

    python -m tenure.demo.hpc.slurm

starts one, prints the line that makes ``sbatch``, ``squeue`` and ``scancel`` of another terminal use it, and stops it at
Ctrl-C. In Python::

    with SlurmCluster(folder) as slurm:
        slurm.run("sbatch", "--parsable", "--wrap", "hostname")

Any number of them run side by side on one host: each has ports, a key and a munge socket of its own, and its nodes have
names of their own, which keep the control groups of their jobs apart.
"""

from tenure.demo.hpc.slurm.cluster import SlurmCluster
from tenure.demo.hpc.slurm.programs import missing_programs
from tenure.demo.hpc.slurm.troubles import SlurmMissing, SlurmTrouble

__all__ = ["SlurmCluster", "SlurmMissing", "SlurmTrouble", "missing_programs"]
