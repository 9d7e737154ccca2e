"""The destination that a subscription names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from tenure.ledger.destinations.lines import FileDestination, NoFolder, StdoutDestination
from tenure.ledger.destinations.protocol import Destination
from tenure.ledger.destinations.webhook import WebhookDestination
from tenure.model.signing import SigningKey
from tenure.model.subscription import EventFile, SubscriptionSpec, Webhook


def destination_of(
    spec: SubscriptionSpec, keys: Sequence[SigningKey], tenant_key: str, files: Path | None
) -> Destination:
    """The destination, opened when it is used. ``files`` is the folder in which events may be written to files."""
    settings = spec.destination
    if isinstance(settings, Webhook):
        return WebhookDestination(settings, keys)
    if isinstance(settings, EventFile):
        # One folder for each tenant, whose key is no path.
        folder = quote(tenant_key, safe="").replace(".", "%2E")
        return FileDestination(files / folder / settings.name) if files is not None else NoFolder()
    return StdoutDestination()
