"""Files that are there whole or not at all, and names for folders."""

from __future__ import annotations

import hashlib
import os
import uuid
from pathlib import Path
from urllib.parse import quote

_LONGEST_NAME = 200
_TRIAL = 64 * 1024


def folder_name(identifier: str) -> str:
    """A name for a folder, different for each identifier, whatever characters that has; readable where it can be."""
    name = quote(identifier, safe="")
    if name.strip(".") == "":
        name = name.replace(".", "%2E")
    if len(name) > _LONGEST_NAME:
        digest = hashlib.sha256(identifier.encode()).hexdigest()[:32]
        name = f"{name[: _LONGEST_NAME - 33]}-{digest}"
    return name


def write_file(path: Path, content: bytes, mode: int = 0o640) -> None:
    """Write a file so that it is there whole, or as it was before, whatever happens."""
    new = path.with_name(f".{path.name}.new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    sync_folder(path.parent)


def try_writing(folder: Path) -> None:
    """Write a file into a folder, which is made where it is missing, and take it away again. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o750)
    trial = folder / f".check-{uuid.uuid4().hex}"
    try:
        with trial.open("wb") as file:
            file.write(bytes(_TRIAL))
            file.flush()
            os.fsync(file.fileno())  # where the disk is another machine's, a full one may tell of it only now
    finally:
        trial.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make durable which files a folder has."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
