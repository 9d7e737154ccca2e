"""The server's settings: what a data folder is born with, and what each start says anew."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

_GIB = 1024**3


def initial_settings() -> Mapping[str, str]:
    """What goes into ``postgresql.conf`` once; its owner may edit it there.

    fsync, synchronous_commit and full_page_writes are left at their default, on: what is acknowledged is kept.
    """
    return {
        "max_connections": "200",
        "shared_buffers": "256MB" if _memory() >= 4 * _GIB else "128MB",
        "max_wal_size": "2GB",
        "shared_preload_libraries": "pg_stat_statements",
        "log_line_prefix": "%m [%p] %q%u@%d/%a ",
        "timezone": "UTC",
        "log_timezone": "UTC",
    }


def start_settings(socket_dir: Path, port: int, listen: str) -> Mapping[str, str]:
    """What is given on the command line at each start, since it depends on where the folder is now."""
    quoted = (
        '"' + str(socket_dir).replace('"', '""') + '"'
    )  # the setting is a list: a comma in a path must not split it
    return {
        "unix_socket_directories": quoted,
        "unix_socket_permissions": "0700",
        "port": str(port),
        "listen_addresses": listen,
        "external_pid_file": "",
        "logging_collector": "off",
        "log_destination": "stderr",
        "lc_messages": "C",
    }


def _memory() -> int:
    """The memory that this process may use, in bytes: the machine's, or its control group's where that is less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")):
        try:
            total = min(total, int(limit.read_text()))
        except (OSError, ValueError):
            continue
    return total
