"""Where a server's files are: in the Tenure folder, or elsewhere when the server's user cannot get there.

Only root ever needs the second: a folder below ``/root`` is closed to every other user, and we change no parent
folder's mode. The data then lives below ``/var/lib/tenure`` (else ``/tmp``), and ``site.json`` in the
Tenure folder says where.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tenure.embedded.account import Account, can_enter
from tenure.embedded.errors import PermissionDenied

log = logging.getLogger("tenure.embedded")

POINTER = "site.json"
FALLBACKS: tuple[Path, ...] = (Path("/var/lib/tenure"), Path("/tmp"))  # made by mkdtemp  # noqa: S108  # nosec B108


@dataclass(frozen=True, slots=True)
class Site:
    """The folder of ``pgdata/``, ``run/`` (the socket) and ``postgres.log``; ``note`` says why it is elsewhere."""

    root: Path
    note: str = ""

    @property
    def pgdata(self) -> Path:
        """The data folder."""
        return self.root / "pgdata"

    @property
    def log(self) -> Path:
        """The server's log."""
        return self.root / "postgres.log"

    @property
    def run(self) -> Path:
        """The folder of the Unix socket, unless its path is too long."""
        return self.root / "run"


def find(home: Path) -> Site | None:
    """The site that was settled for ``home``, without making anything; None when there is none yet."""
    if (home / "pgdata").exists():
        return Site(home)
    return _pointed_at(home)


def settle(home: Path, account: Account, fallbacks: Sequence[Path] = FALLBACKS) -> Site:
    """The site for ``home``; chosen, made and recorded on the first call. Raises PermissionDenied, OSError."""
    known = find(home)
    if known is not None:
        return known
    if can_enter(account, home):
        return Site(home)
    for parent in fallbacks:
        root = _make_below(parent, home, account)
        if root is not None:
            break
    else:
        raise PermissionDenied(
            f"The server runs as {account.name}, who cannot reach {home}, and no other place for the data was found.",
            f"Set TENURE_HOME to a folder that {account.name} can reach.",
        )
    note = f"The data is in {root}: the server runs as {account.name}, who cannot reach {home}."
    _record(home, root, note)
    log.warning(note)
    return Site(root, note)


def _make_below(parent: Path, home: Path, account: Account) -> Path | None:
    try:
        if not parent.exists():
            parent.mkdir(parents=True, mode=0o755)
            parent.chmod(0o755)
        name = home.parent.name if home.name == ".tenure" else home.name
        root = Path(tempfile.mkdtemp(prefix=f"tenure-{name}-", dir=parent))
    except OSError:
        return None
    account.own(root)
    if can_enter(account, root):
        return root
    root.rmdir()
    return None


def _record(home: Path, root: Path, note: str) -> None:
    partial = home / f"{POINTER}.{os.getpid()}"
    partial.write_text(json.dumps({"of": str(home.resolve()), "root": str(root), "note": note}, indent=2) + "\n")
    partial.replace(home / POINTER)


def _pointed_at(home: Path) -> Site | None:
    try:
        pointer = json.loads((home / POINTER).read_text())
        root, owner, note = Path(pointer["root"]), Path(pointer["of"]), str(pointer["note"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise PermissionDenied(
            f"{home / POINTER}, which says where the data is, cannot be read: {error}.",
            "Put back the file that was there; without it the data would not be found.",
        ) from error
    if owner != home.resolve() and (owner / POINTER).exists():
        return None  # a copy of a project gets data of its own; one that was moved keeps its data
    return Site(root, note)
