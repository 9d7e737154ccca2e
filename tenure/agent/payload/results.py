"""Puts what a job left into the payload store: stdout, stderr, ``results/``, and at last ``metadata.json`` about them.

Done again after an interruption it writes the same. The store has all of it once ``metadata.json`` is there.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO
from urllib.parse import quote

from tenure.agent.durable import folder_name
from tenure.agent.execution import Execution
from tenure.agent.payload.inputs import Interrupted
from tenure.agent.payload.stores import PayloadStore
from tenure.agent.script import RESULTS
from tenure.agent.uris import bare
from tenure.remote.model.fields import ResultRef

METADATA = "metadata.json"
_PIECE = 1 << 20
_OUTPUTS = ("stdout", "stderr")
_LONGEST_NAME = 200
#: What a store says of one file, today and later: its name, or its size, is none that it takes.
_NEVER = frozenset({errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL, errno.EFBIG})
#: A disk, or another machine's, may give later what it does not give now.
_TRIES_TO_READ = 3


class TooMuch(Exception):
    """A job left more than the node lets through."""


class _Unreadable(OSError):
    """What a job left cannot be read, as opposed to: cannot be stored."""


@dataclass(frozen=True, slots=True)
class _Found:
    path: Path
    name: PurePosixPath


def put_results(
    execution: Execution, folder: Path, store: PayloadStore, *, max_mib: int | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> ResultRef:  # fmt: skip
    """Copy all of it and say where it is.

    Raises TooMuch, Interrupted, OSError, or what the store raises: then it may be done again.
    """
    work = execution.work
    there = PurePosixPath(*map(folder_name, (work.tenant_id, work.workspace_id, work.job_id, execution.execution_id)))
    files, skipped, room = [], [], max_mib * 2**20 if max_mib is not None else None

    def skip(name: PurePosixPath, why: str | None) -> None:
        skipped.append({"name": _text(name), "why": why or "it cannot be read"})

    def heed(size: int) -> None:
        if room is not None and size > room:
            raise TooMuch(f"It left more than {max_mib:,} MiB; see [results] max_mib in the node's settings.")
        if stopping():
            raise Interrupted

    for found in _files(folder, skip):
        try:
            source = os.open(found.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            skip(found.name, error.strerror)
            continue
        stored = _in_store(found.name)
        with os.fdopen(source, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                skip(found.name, "it is no file")
                continue
            try:
                with store.writing(there / stored) as out:
                    size, sha256 = _copy(file, found.name, out, heed)
            except OSError as error:  # where the store takes none at all, metadata.json tells
                tried = execution.attempts + 1 >= _TRIES_TO_READ
                if not (tried if isinstance(error, _Unreadable) else error.errno in _NEVER):
                    raise
                skip(found.name, error.strerror)
                continue
            room = room - size if room is not None else None
        files.append({"name": _text(found.name), "stored": str(stored), "size": size, "sha256": sha256})
    metadata = {**_about(execution), "files": files, "skipped": skipped}
    with store.writing(there / METADATA) as out:
        out.write(json.dumps(metadata, indent=2, ensure_ascii=False).encode())
    return ResultRef(output_uri=f"{store.uri(there)}/", metadata_uri=store.uri(there / METADATA))


def _about(execution: Execution) -> dict[str, Any]:
    work, outcome = execution.work, execution.outcome
    known = {
        name: getattr(work, name)
        for name in ("tenant_id", "workspace_id", "job_id", "submission_id", "execution_id", "attempt", "trace_id")
    }
    ended = {} if outcome is None else outcome.model_dump(mode="json")
    times = {"received_at": _time(execution.received_at)}
    return {
        "format": 1, **known, "input_uri": bare(work.payload_ref.input_uri), "queue_name": work.queue_name,
        "scheduler_job_id": execution.job_id, "slurm_job_id": execution.slurm_job_id, "restarts": execution.restarts,
        **times, **ended,
    }  # fmt: skip


def _files(folder: Path, skip: Callable[[PurePosixPath, str | None], None]) -> Iterator[_Found]:
    for name in _OUTPUTS:
        if (folder / name).exists():
            yield _Found(folder / name, PurePosixPath(name))
    root = folder / RESULTS

    def unread(error: OSError) -> None:
        path = Path(error.filename)
        if path != root or not isinstance(error, FileNotFoundError):  # a job may take away what it does not use
            skip(PurePosixPath(RESULTS, path.relative_to(root)), error.strerror)

    for parent, folders, names in os.walk(root, onerror=unread, followlinks=False):
        folders.sort()
        links = [name for name in folders if os.path.islink(os.path.join(parent, name))]  # noqa: PTH114, PTH118 - never raises
        for name in sorted(names + links):
            path = Path(parent) / name
            yield _Found(path, PurePosixPath(RESULTS, path.relative_to(root).as_posix()))


def _copy(file: BinaryIO, name: PurePosixPath, out: BinaryIO, heed: Callable[[int], None]) -> tuple[int, str]:
    """How large it is, and its SHA-256. ``heed`` is told at each piece how much has come: what it raises breaks off."""
    digest, size = hashlib.sha256(), 0
    while piece := _read(file, name):
        size += len(piece)
        heed(size)
        digest.update(piece)
        out.write(piece)
    return size, digest.hexdigest()


def _read(file: BinaryIO, name: PurePosixPath) -> bytes:
    try:
        return file.read(_PIECE)
    except OSError as error:
        raise _Unreadable(error.errno, error.strerror, _text(name)) from error


def _in_store(name: PurePosixPath) -> PurePosixPath:
    """The name as the store has it: another one for each."""
    return PurePosixPath(*map(_stored, name.parts))


def _stored(part: str) -> str:
    """Names that are no text, or that a URI cannot hold as they are, are percent-encoded, and shortened by a hash where that is
    too long. None meets another: what is not encoded has no ``%``, and what is encoded no ``%-``.
    """
    if not _odd(part):
        return part
    encoded = quote(os.fsencode(part), safe=" ")
    if len(encoded) <= _LONGEST_NAME:
        return encoded
    digest = hashlib.sha256(os.fsencode(part)).hexdigest()[:32]
    return f"{encoded[: _LONGEST_NAME - 34]}%-{digest}"


def _odd(part: str) -> bool:
    with contextlib.suppress(UnicodeEncodeError):
        part.encode()
        return "%" in part or not part.isprintable()
    return True


def _text(name: PurePosixPath) -> str:
    """The name as JSON can hold it; bytes that are no text are shown as escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
