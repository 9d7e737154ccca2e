"""The operating system's user that the server runs as.

PostgreSQL refuses to run as root. As an ordinary user the server runs as that user. As root it runs as whoever owns the
folder, so that a project's files stay its owner's; where that is root too, as ``postgres``, else as ``nobody``.
"""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tenure.embedded.errors import NoServerAccount


@dataclass(frozen=True, slots=True)
class Account:
    """A user by number and name. ``switch`` tells whether we must become it, which only root can."""

    uid: int
    gid: int
    name: str
    switch: bool

    def own(self, path: Path) -> None:
        """Hand a file or folder that we just made to this account; nothing to do unless we are root."""
        if self.switch:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)


def account_for(folder: Path) -> Account:
    """The account for a server whose data is in ``folder``. Raises NoServerAccount."""
    if os.geteuid() != 0:
        return _account(os.geteuid(), os.getegid(), switch=False)
    owner = _owner_of_nearest(folder)
    if owner.st_uid != 0:
        return _account(owner.st_uid, owner.st_gid, switch=True)
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid, name, switch=True)
    raise NoServerAccount(
        "PostgreSQL refuses to run as root, and this system has neither a user 'postgres' nor 'nobody'.",
        "Add one (useradd --system postgres), or give the folder to an ordinary user.",
    )


def run_as(account: Account, command: Sequence[str], cwd: str, text_in: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command to its end as ``account`` and capture what it prints. Raises OSError, NoServerAccount.

    The environment holds nothing of ours: PG* variables of the caller must not steer the server.
    """
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=cwd,
            env=dict(clean_environment()),
            input=text_in,
            start_new_session=True,
            user=account.uid if account.switch else None,
            group=account.gid if account.switch else None,
            extra_groups=[] if account.switch else None,
        )
    except PermissionError as error:
        if account.switch and error.filename is None:
            raise cannot_switch(account) from error
        raise
    except subprocess.SubprocessError as error:
        raise cannot_switch(account) from error


def cannot_switch(account: Account) -> NoServerAccount:
    """The error for a root that lacks the right to become another user, as in a container without CAP_SETUID."""
    return NoServerAccount(
        f"PostgreSQL refuses to run as root, and this root may not become the user {account.name}.",
        "Run as an ordinary user, or allow the container CAP_SETUID and CAP_SETGID.",
    )


def clean_environment() -> Mapping[str, str]:
    """What the server's processes get as environment: enough to find programs, and messages in one known language."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def can_enter(account: Account, folder: Path) -> bool:
    """Whether ``account`` may traverse to ``folder``, asked of the kernel by trying."""
    try:
        return run_as(account, ["/bin/sh", "-c", 'cd -- "$1"', "sh", str(folder)], cwd="/").returncode == 0
    except OSError:
        return False


def _owner_of_nearest(folder: Path) -> os.stat_result:
    for candidate in (folder / "pgdata", folder, *folder.parents):
        try:
            return candidate.stat()
        except OSError:
            continue
    return Path("/").stat()


def _account(uid: int, gid: int, *, switch: bool) -> Account:
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = str(uid)
    return Account(uid, gid, name, switch)
