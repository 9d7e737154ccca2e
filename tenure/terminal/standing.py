"""One subject as it stands, for people."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.text import Text

from tenure.engine.reading import Standing
from tenure.model import euid
from tenure.terminal.listing import fields, table
from tenure.terminal.reasons import reasons_told
from tenure.terminal.wording import moment, shown, state


def standing_told(standing: Standing) -> list[RenderableType]:
    """Envelope, data, leases, holds, dead letter, reasons."""
    thread, subject = standing.situation.thread, standing.subject
    env = thread.envelope
    told: dict[str, Any] = {
        "subject": Text(euid.format_euid(euid.SUBJECT, env.uid), style="bold"), "name": subject.name,
        "external_ref": subject.external_ref, "template": env.template, "state": state(env.state),
        "queue": env.next_queue_key, "action": env.next_action_key, "priority": env.priority,
        "attempts": env.attempt_count, "ready_at": env.ready_at, "retry_at": env.retry_at, "due_at": env.due_at,
        "created_at": env.created_at, "facts": env.seq, "revision": env.revision,
        "site": env.site, "platform": env.platform, "assay": env.assay, "correlation_id": subject.correlation_id,
        "payload_ref": subject.payload_ref, "properties": dict(subject.properties),
    }  # fmt: skip
    blocks: list[RenderableType] = [fields({k: v for k, v in told.items() if v not in (None, "", {})})]
    if live := thread.live_attempts:
        rows = [
            (euid.format_euid(euid.LEASE, a.uid), euid.format_euid(euid.WORKER, a.worker or 0), str(a.attempt_number),
             moment(a.expires_at))
            for a in live
        ]  # fmt: skip
        blocks.append(table(["!lease", "!worker", ">attempt", "!expires"], rows))
    if holds := thread.active_holds:
        rows = [(euid.format_euid(euid.HOLD, h.uid), h.hold_code, shown(h.reason), h.placed_by) for h in holds]
        blocks.append(table(["!hold", "code", "reason", "by"], rows))
    if letter := thread.open_dead_letter:
        name = euid.format_euid(euid.DEAD_LETTER, letter.uid)
        blocks.append(
            Text(f"dead letter {name}: {letter.error_class} after {letter.failure_count} failure(s)", style="red")
        )
    return [*blocks, "", *reasons_told(standing.reasons)]
