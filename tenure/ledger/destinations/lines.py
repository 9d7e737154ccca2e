"""Events as lines of JSON: appended to a file, or written to standard output (design 05, Out)."""

from __future__ import annotations

import asyncio
import os
import sys
from io import FileIO
from pathlib import Path

from tenure.model.cloud_event import CloudEvent
from tenure.model.delivery import DELIVERED, Outcome, Verdict

_DOWN = Verdict(Outcome.DOWN, "not_written")


class FileDestination:
    """A file that grows. An event is delivered once its line is on the disk.

    A line that a crash cut off is ended before the next, so that it alone cannot be read; its event comes again.
    """

    concurrency = 1

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: FileIO | None = None

    async def deliver(self, event: CloudEvent) -> Verdict:
        """See ``Destination``."""
        try:
            await asyncio.to_thread(self._append, event.body)
        except OSError:
            await self.close()
            return _DOWN
        return DELIVERED

    async def close(self) -> None:
        """See ``Destination``."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _append(self, body: bytes) -> None:
        if self._file is None:
            self._file = self._opened()
        line = memoryview(body + b"\n")
        while line:
            line = line[self._file.write(line) :]
        os.fsync(self._file.fileno())

    def _opened(self) -> FileIO:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._path.open("ab+", buffering=0)  # unbuffered: what could not be written is not kept for later
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        return file


class StdoutDestination:
    """Standard output of the relay."""

    concurrency = 1

    async def deliver(self, event: CloudEvent) -> Verdict:
        """See ``Destination``."""
        try:
            await asyncio.to_thread(self._write, event.body)
        except OSError:
            return _DOWN
        return DELIVERED

    async def close(self) -> None:
        """See ``Destination``."""

    def _write(self, body: bytes) -> None:
        sys.stdout.buffer.write(body + b"\n")
        sys.stdout.buffer.flush()


class NoFolder:
    """Stands for files where the relay was given no folder: it waits for a relay that was."""

    concurrency = 1

    async def deliver(self, event: CloudEvent) -> Verdict:
        """See ``Destination``."""
        del event
        return Verdict(Outcome.DOWN, "no_folder")

    async def close(self) -> None:
        """See ``Destination``."""


class Unknown:
    """Stands for a kind that this relay does not know: it waits for one that does."""

    concurrency = 1

    async def deliver(self, event: CloudEvent) -> Verdict:
        """See ``Destination``."""
        del event
        return Verdict(Outcome.DOWN, "unknown_destination")

    async def close(self) -> None:
        """See ``Destination``."""
