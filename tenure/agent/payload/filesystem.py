"""File systems besides the node's own, by fsspec (the extra ``agent``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, BinaryIO, cast

from tenure.agent.errors import AdapterMissing
from tenure.agent.uris import without_secrets


def filesystem_of(uri: str) -> tuple[Any, str]:
    """The file system of a URI and the path in it. Raises AdapterMissing where nothing installed knows its scheme."""
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 - optional
    except ImportError:
        raise AdapterMissing(
            f"{_scheme(uri)}:// needs fsspec, which is not installed.", "Install it: pip install 'tenure[agent]'."
        ) from None
    try:
        open_uri: Callable[[str], tuple[Any, str]] = url_to_fs
        filesystem, path = open_uri(uri)
    except (ImportError, ValueError) as error:
        raise AdapterMissing(
            f"{_scheme(uri)}:// cannot be used: {without_secrets(str(error), uri)}.",
            "Install the package that fsspec needs for it.",
        ) from None
    return filesystem, str(path)


def opened(filesystem: Any, path: str, mode: str) -> BinaryIO:
    """A file of it. Raises OSError, or whatever its implementation raises."""
    return cast(BinaryIO, filesystem.open(path, mode))


def _scheme(uri: str) -> str:
    return uri.partition("://")[0]
