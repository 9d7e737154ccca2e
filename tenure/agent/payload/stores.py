"""Payload stores: folders of this node, or whatever fsspec reaches. A file is there whole, or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Protocol
from urllib.parse import unquote, urlsplit

from tenure.agent.durable import sync_folder
from tenure.agent.payload.filesystem import filesystem_of, opened
from tenure.agent.uris import bare


class PayloadStore(Protocol):
    """Where files go. What goes wrong is an OSError, or what an implementation of fsspec raises."""

    def writing(self, path: PurePosixPath) -> contextlib.AbstractContextManager[BinaryIO]:
        """A file to write; it is there once the block has ended well."""

    def uri(self, path: PurePosixPath) -> str:
        """What others find it by."""

    def remove(self, path: PurePosixPath) -> None:
        """Take a file away again."""


def store_of(where: str) -> PayloadStore:
    """The store behind a path or a URI. Raises AdapterMissing."""
    parts = urlsplit(where)
    if parts.scheme in ("", "file"):
        return FolderStore(Path(unquote(parts.path) if parts.scheme else where))
    return ElsewhereStore(where)


class FolderStore:
    """A folder that this node reaches as its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()

    @contextmanager
    def writing(self, path: PurePosixPath) -> Iterator[BinaryIO]:
        """A file beside its final name, renamed when it is whole."""
        target = self._folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(f".%new-{os.getpid()}")  # no name in a store is so: `%` stands before two digits there
        try:
            with new.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            new.replace(target)
            sync_folder(target.parent)
        except BaseException:
            with contextlib.suppress(OSError):
                new.unlink(missing_ok=True)
            raise

    def uri(self, path: PurePosixPath) -> str:
        """A ``file://`` URI."""
        return (self._folder / path).as_uri()

    def remove(self, path: PurePosixPath) -> None:
        """Unlink it."""
        (self._folder / path).unlink(missing_ok=True)


class ElsewhereStore:
    """An object store or another machine, by fsspec: a file appears when it has been closed."""

    def __init__(self, uri: str) -> None:
        self._shown = bare(uri).rstrip("/")
        self._filesystem, self._root = filesystem_of(uri)

    @contextmanager
    def writing(self, path: PurePosixPath) -> Iterator[BinaryIO]:
        """A file of the file system; in a transaction where that has them."""
        name = self._name(path)
        self._ignoring(self._filesystem.makedirs, name.rpartition("/")[0], exist_ok=True)  # object stores have none
        with self._filesystem.transaction, opened(self._filesystem, name, "wb") as file:
            yield file

    def uri(self, path: PurePosixPath) -> str:
        """Below the store's own URI, without what opens it."""
        return f"{self._shown}/{path}"

    def remove(self, path: PurePosixPath) -> None:
        """Delete it."""
        self._ignoring(self._filesystem.rm, self._name(path))

    def _name(self, path: PurePosixPath) -> str:
        return f"{self._root.rstrip('/')}/{path}"

    @staticmethod
    def _ignoring(do: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        with contextlib.suppress(Exception):
            do(*args, **kwargs)
