"""What somebody took, and how to go on with it."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from tenure.model import euid
from tenure.sdk.operations import Lease
from tenure.terminal.listing import fields


def claim_told(lease: Lease) -> tuple[RenderableType, ...]:
    """The lease with its token, and the commands that report what came of it."""
    item = lease.item
    name = euid.format_euid(euid.LEASE, item.lease)
    told = {
        "subject": euid.format_euid(euid.SUBJECT, item.subject), "name": item.name, "reference": item.external_ref,
        "queue": item.queue_key, "attempt": item.attempt_number, "task": item.next_action_key,
        "properties": item.properties or None, "lease": name, "token": lease.token.reveal(), "expires": item.expires_at,
    }  # fmt: skip
    steps = f"export TENURE_LEASE_TOKEN={lease.token.reveal()}\n"
    steps += "" if item.started else f"tenure lease start {name}\n"
    steps += f"tenure lease complete {name}  (or: renew, fail --message WHY, release)"
    return fields({key: value for key, value in told.items() if value is not None}), Text(steps, style="dim")
