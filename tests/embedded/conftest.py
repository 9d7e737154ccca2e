"""Who runs the tests, and how to do a thing as someone else."""

from __future__ import annotations

import os
import pickle
import pwd
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tenure.embedded.binaries import Installation, installed


def _run_as(user: pwd.struct_passwd, action: Callable[[], Any]) -> Any:
    """Run ``action`` in a forked process that has become ``user`` for good; give back its result or raise its error."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
            answer = (True, action())
        except BaseException as error:
            answer = (False, (type(error), getattr(error, "message", str(error)), getattr(error, "hint", "")))
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        worked, answer = pickle.load(pipe)  # noqa: S301 - from our own child
    os.waitpid(child, 0)
    if worked:
        return answer
    kind, message, hint = answer
    raise kind(message, hint) if hint else kind(message)


@pytest.fixture
def as_ordinary_user() -> Callable[[Callable[[], Any]], Any]:
    """Runs a function as an ordinary user: as ``nobody`` when we are root, else as ourselves."""
    if os.geteuid() != 0:
        return lambda action: action()
    return lambda action: _run_as(pwd.getpwnam("nobody"), action)


@pytest.fixture
def root() -> None:
    """Skips the test unless we are root."""
    if os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.fixture
def free_port() -> int:
    """A TCP port of the loopback address that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.fixture
def closed_folder(tmp_path_factory: pytest.TempPathFactory, root: None) -> Path:
    """A folder that only root can enter, as ``/root`` is."""
    folder = tmp_path_factory.mktemp("closed")
    folder.chmod(0o700)
    return folder


@pytest.fixture
def closed_programs(closed_folder: Path) -> Installation:
    """The PostgreSQL programs in a folder that only root can enter."""
    package = installed().root.parent
    shutil.copytree(package / "pginstall", closed_folder / package.name / "pginstall")
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, closed_folder / libraries.name)
    return Installation(closed_folder / package.name / "pginstall")
