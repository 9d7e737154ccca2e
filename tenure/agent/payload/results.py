"""Puts what a job left into the payload store: stdout, stderr, ``results/``, and at last ``metadata.json`` about them.

Done again after an interruption it writes the same. The store has all of it once ``metadata.json`` is there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any
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


class TooMuch(Exception):
    """A job left more than the node lets through."""


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
    for found in _files(folder):
        try:
            source = os.open(found.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            skipped.append({"name": _text(found.name), "why": error.strerror or "it cannot be read"})
            continue
        with os.fdopen(source, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                skipped.append({"name": _text(found.name), "why": "it is no file"})
                continue
            digest, size = hashlib.sha256(), 0
            with store.writing(there / _in_store(found.name)) as out:
                while piece := file.read(_PIECE):
                    size += len(piece)
                    if room is not None and size > room:
                        raise TooMuch(
                            f"It left more than {max_mib:,} MiB; see [results] max_mib in the node's settings."
                        )
                    if stopping():
                        raise Interrupted
                    digest.update(piece)
                    out.write(piece)
            room = room - size if room is not None else None
        stored = str(_in_store(found.name))
        files.append({"name": _text(found.name), "stored": stored, "size": size, "sha256": digest.hexdigest()})
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


def _files(folder: Path) -> Iterator[_Found]:
    for name in _OUTPUTS:
        if (folder / name).exists():
            yield _Found(folder / name, PurePosixPath(name))
    root = folder / RESULTS
    for parent, folders, names in os.walk(root, followlinks=False):
        folders.sort()
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        for name in sorted(names + links):
            path = Path(parent) / name
            yield _Found(path, PurePosixPath(RESULTS, path.relative_to(root).as_posix()))


def _in_store(name: PurePosixPath) -> PurePosixPath:
    """Names that are no text, or that a URI cannot hold as they are, are percent-encoded."""
    return PurePosixPath(*(quote(os.fsencode(part), safe=" ") if _odd(part) else part for part in name.parts))


def _odd(part: str) -> bool:
    with contextlib.suppress(UnicodeEncodeError):
        part.encode()
        return not part.isprintable()
    return True


def _text(name: PurePosixPath) -> str:
    """The name as JSON can hold it; bytes that are no text are shown as escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
