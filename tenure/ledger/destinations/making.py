"""The destination that a subscription names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from tenure.ledger.destinations.guarded import Guarded
from tenure.ledger.destinations.lines import FileDestination, NoFolder, StdoutDestination, Unknown
from tenure.ledger.destinations.protocol import Destination
from tenure.ledger.destinations.webhook import WebhookDestination
from tenure.ledger.rows import Watched
from tenure.model.signing import SigningKey
from tenure.model.subscription import EventFile, Stdout, Webhook

Maker = Callable[[Watched], Destination]


def destination_of(
    watched: Watched, keys: Sequence[SigningKey], files: Path | None, makers: Mapping[str, Maker]
) -> Destination:
    """The destination, opened when it is used. ``files`` is the folder in which events may be written to files.

    ``makers`` make those of kinds that this package does not know.
    """
    return Guarded(_made(watched, keys, files, makers))


def _made(watched: Watched, keys: Sequence[SigningKey], files: Path | None, makers: Mapping[str, Maker]) -> Destination:
    settings = watched.spec.destination
    if settings.kind in makers:
        return makers[settings.kind](watched)
    if isinstance(settings, Webhook):
        return WebhookDestination(settings, keys)
    if isinstance(settings, EventFile):
        # One folder for each tenant, whose key is no path.
        folder = quote(watched.tenant_key, safe="").replace(".", "%2E")
        return FileDestination(files / folder / settings.name) if files is not None else NoFolder()
    return StdoutDestination() if isinstance(settings, Stdout) else Unknown()
