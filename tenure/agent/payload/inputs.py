"""Fetches the input of an execution into its folder: from a file, over HTTP, or by fsspec; bounded and in pieces."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import posixpath
import stat
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

import httpx

from tenure.agent.durable import sync_folder
from tenure.agent.errors import AdapterMissing
from tenure.agent.payload.filesystem import filesystem_of, opened
from tenure.agent.sentences import failure_with, reason_of
from tenure.agent.settings import RunnerSettings
from tenure.agent.uris import shown, without_secrets

_PIECE = 1 << 20
_REDIRECTS = 5
_HEED_SECONDS = 0.2
_TIMEOUT = httpx.Timeout(30.0, connect=10.0)
_GONE = frozenset({400, 401, 403, 404, 405, 410, 414, 451})
#: What a path can be that names no file, today or later.
_NEVER = frozenset({errno.ENAMETOOLONG, errno.ELOOP, errno.EISDIR})


class InputRefused(Exception):
    """It will never be had here; ``failure`` says why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.failure = failure_with(code=code, message=message, retryable=False)


class InputUnavailable(Exception):
    """It cannot be had now."""


class Interrupted(Exception):
    """The agent stops, or nobody wants it any more."""


def fetch(uri: str, target: Path, settings: RunnerSettings, heed: Callable[[], None] = lambda: None) -> None:
    """Bring the input to ``target``, which is there whole or not at all.

    ``heed`` is called at each piece, and over HTTP also while none comes: what it raises breaks off, Interrupted or another.
    Raises InputRefused, InputUnavailable, Interrupted, and OSError where the node's disk does not take it, and only then.
    """
    limit = settings.max_input_mib * 2**20
    new = target.with_name(f".{target.name}.new")
    size = 0
    try:
        with new.open("wb") as out, contextlib.closing(_read(uri, settings, heed)) as pieces:
            for piece in pieces:
                size += len(piece)
                if size > limit:
                    raise InputRefused(
                        "input_too_large",
                        f"The input {shown(uri)} is larger than {settings.max_input_mib:,} MiB, this node's limit.",
                    )
                heed()
                out.write(piece)
            out.flush()
            os.fsync(out.fileno())
        new.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)  # half of an input would go on filling the disk that it did not fit on
        raise
    sync_folder(target.parent)


def permitted(uri: str, prefixes: tuple[str, ...]) -> bool:
    """Whether a URI lies under one of the prefixes: same scheme, same host, a path below. Nothing listed: any."""
    if not prefixes:
        return True
    return any(_below(_place(uri), _place(prefix)) for prefix in prefixes)


def _place(uri: str) -> tuple[str, str, str]:
    parts = urlsplit(uri if "://" in uri else f"file://{uri}")
    path = unquote(parts.path)
    if parts.scheme == "file":
        return "file", "", os.path.realpath(path)  # where links lead to counts, not where they lie
    return parts.scheme.lower(), parts.netloc.lower(), posixpath.normpath(path) if path else "/"


def _below(place: tuple[str, str, str], prefix: tuple[str, str, str]) -> bool:
    if place[:2] != prefix[:2]:
        return False
    folder = prefix[2].rstrip("/")
    return place[2] == folder or place[2].startswith(f"{folder}/")


def _read(uri: str, settings: RunnerSettings, heed: Callable[[], None]) -> Generator[bytes, None, None]:
    """The pieces of an input. An OSError of its place is not one of the node's disk, which ``fetch`` leaves as it is."""
    try:
        yield from _pieces(uri, settings, heed)
    except OSError as error:
        said = f"{shown(uri)} cannot be read: {error.strerror or reason_of(error, uri)}."
        raise (InputRefused("input_refused", said) if error.errno in _NEVER else InputUnavailable(said)) from error
    except ValueError as error:  # of a URI that is none, or of a path that no file can have
        raise InputRefused(
            "input_refused", f"{shown(uri)} names no input: {without_secrets(str(error), uri)}."
        ) from error


def _pieces(uri: str, settings: RunnerSettings, heed: Callable[[], None]) -> Iterator[bytes]:
    _check(uri, settings)
    scheme = urlsplit(uri).scheme.lower()
    if scheme in ("", "file"):
        yield from _from_file(uri)
    elif scheme in ("http", "https"):
        yield from _from_http(uri, settings, heed)
    else:
        yield from _from_elsewhere(uri)


def _check(uri: str, settings: RunnerSettings) -> None:
    if not permitted(uri, settings.inputs):
        raise InputRefused(
            "input_refused", f"This node takes no input from {shown(uri)}: see [runner] inputs in its settings."
        )


def _from_file(uri: str) -> Iterator[bytes]:
    parts = urlsplit(uri)
    if parts.netloc not in ("", "localhost"):
        raise InputRefused("input_refused", f"{shown(uri)} names a file of another machine; a path has three slashes.")
    path = Path(unquote(parts.path))
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # before it is opened: a pipe would wait, a device may do anything
            raise InputRefused("input_refused", f"{path} is no file.")
    except FileNotFoundError:
        raise InputUnavailable(f"There is no file {path} on this node.") from None
    with path.open("rb") as file:
        yield from _pieces_of(file)


def _from_http(uri: str, settings: RunnerSettings, heed: Callable[[], None]) -> Iterator[bytes]:
    """Driven by an event loop of its own: only there can it be left wherever it waits, be it in the middle of a header."""
    pieces = _over_http(uri, settings)
    with asyncio.Runner() as runner:
        try:
            while piece := runner.run(_next(pieces, heed)):
                yield piece
        finally:
            runner.run(pieces.aclose())


async def _next(pieces: AsyncGenerator[bytes, None], heed: Callable[[], None]) -> bytes:
    """The next piece; an empty one after the last."""
    coming = asyncio.ensure_future(anext(pieces, b""))
    try:
        while not coming.done():
            await asyncio.wait({coming}, timeout=_HEED_SECONDS)
            heed()
        return coming.result()
    finally:
        if not coming.done():
            coming.cancel()
            await asyncio.wait({coming})


async def _over_http(uri: str, settings: RunnerSettings) -> AsyncGenerator[bytes, None]:
    try:
        async with httpx.AsyncClient(timeout=_TIMEOUT, follow_redirects=False) as client:
            for _ in range(_REDIRECTS):
                async with client.stream("GET", uri) as response:
                    if not response.has_redirect_location:
                        _check_answer(uri, response)
                        async for piece in response.aiter_bytes():  # as they come: nothing waits for a whole piece
                            yield piece
                        return
                    uri = str(response.url.join(response.headers["location"]))
                if urlsplit(uri).scheme not in ("http", "https"):
                    raise InputRefused("input_refused", f"The server of the input sends on to {shown(uri)}.")
                _check(uri, settings)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise InputUnavailable(f"{shown(uri)} did not come: {reason_of(error, uri)}.") from error
    raise InputRefused(
        "input_refused", f"The server of the input sends on more than {_REDIRECTS} times, at last to {shown(uri)}."
    )


def _check_answer(uri: str, response: httpx.Response) -> None:
    if response.status_code in _GONE:
        raise InputRefused(
            "input_unavailable", f"{shown(uri)} cannot be had: its server answered {response.status_code}."
        )
    if not response.is_success:
        raise InputUnavailable(f"{shown(uri)} did not come: its server answered {response.status_code}.")


def _from_elsewhere(uri: str) -> Iterator[bytes]:
    try:
        filesystem, path = filesystem_of(uri)
        with opened(filesystem, path, "rb") as file:
            yield from _pieces_of(file)
    except AdapterMissing as error:
        raise InputRefused("input_refused", without_secrets(str(error), uri)) from error
    except GeneratorExit:
        raise
    except Exception as error:  # whatever an implementation of fsspec raises
        raise InputUnavailable(f"{shown(uri)} did not come: {reason_of(error, uri)}.") from error


def _pieces_of(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece
