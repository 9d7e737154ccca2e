"""What an action did, in one line."""

from __future__ import annotations

from rich.text import Text

from tenure.model import euid
from tenure.model.result import ActionResult
from tenure.terminal.wording import shown, state


def outcome(result: ActionResult) -> Text:
    """``SX-1T8Z  READY  in queue thumbnails``, and whether it had been done before."""
    line = Text(euid.format_euid(euid.SUBJECT, result.subject), style="bold").append("  ")
    line.append_text(state(result.state))
    if result.queue_key is not None:
        line.append(f"  queue {shown(result.queue_key)}")
    line.append(f"  revision {result.revision}", style="dim")
    if result.replayed:
        line.append("  (answered from before: nothing was changed)", style="yellow")
    return line
