"""``python -m tenure.demo.hpc.slurm``: a Slurm to try things with, until Ctrl-C."""

from __future__ import annotations

import signal
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from tenure.demo.hpc.slurm import SlurmCluster, SlurmTrouble
from tenure.demo.hpc.slurm.site import PARTITIONS


def main() -> int:
    """Start it, say how to use it, and stop it when asked to."""
    console = Console(highlight=False)
    # Slurm wants folders that nobody else may write to, and sockets want short paths.
    with tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        try:
            with SlurmCluster(Path(folder)) as slurm:
                console.print(f"Slurm runs; its files and logs are in {folder}. In another terminal:\n")
                for name, value in slurm.environment.items():
                    console.print(f"  export {name}={value}", soft_wrap=True)
                console.print(f"\nPartitions: {', '.join(PARTITIONS)}. Ctrl-C stops it.")
                signal.pause()
        except KeyboardInterrupt:
            return 0
        except SlurmTrouble as trouble:
            Console(stderr=True, highlight=False).print(f"{trouble.message}\n{trouble.hint}")
            return 1
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
