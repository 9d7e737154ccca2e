"""Makes a profile of AiiDA with two computers in a folder: ``python profile.py FOLDER``. No service, SQLite, core.zeromq."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

PROFILE = "site"
COMPUTERS = (
    ("cluster", "tenure.slurm", "core.local"), ("here", "tenure.direct", "core.local"), ("plain", "core.slurm", "core.local"),
    ("far", "tenure.direct", "core.ssh"),
)  # fmt: skip


def make(folder: Path) -> None:
    os.environ["AIIDA_PATH"] = str(folder)
    warnings.simplefilter("ignore")  # it says that it makes a folder
    from aiida import load_profile, orm
    from aiida.manage.configuration import create_profile, get_config

    config = get_config(create=True)
    create_profile(
        config, name=PROFILE, email="site@example.org", first_name="", last_name="", institution="",
        storage_backend="core.sqlite_dos", storage_config={"filepath": str(folder / "store")},
        broker_backend="core.zeromq", broker_config={"supervised_by_daemon": True},
    )  # fmt: skip
    config.set_default_profile(PROFILE, overwrite=True)
    # So that it pauses, after some failures, within a test.
    config.set_option("transport.task_retry_initial_interval", 1)
    config.set_option("transport.task_maximum_attempts", 3)
    config.store()
    load_profile(PROFILE)
    for label, scheduler, transport in COMPUTERS:
        computer = orm.Computer(
            label=label, hostname="localhost", transport_type=transport, scheduler_type=scheduler,
            workdir=str(folder / "work"),
        ).store()  # fmt: skip
        computer.set_minimum_job_poll_interval(0.5)
        # Without a login the programs of Slurm are those that a test puts on PATH.
        computer.configure(use_login_shell=False)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
