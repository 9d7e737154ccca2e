"""What to do next, in the words of the command line: hints and remedies name actions as every surface knows them."""

from __future__ import annotations

_COMMANDS = {
    "Enable it with update_queue_policy": "Enable it: tenure queue enable",
    "Change it with update_queue_policy": "Change it: tenure queue update",
    "requeue it with reopen=True": "requeue it: tenure subject requeue --reopen",
    "Requeue it with reopen=True": "Requeue it: tenure subject requeue --reopen",
    "requeue the subject with reopen=True": "tenure subject requeue --reopen",
    "requeue with reopen=True": "tenure subject requeue --reopen",
    "(release_execution_hold)": "(tenure subject release)",
    "Say which one to release.": "Say which one to release with --hold.",
}


def in_commands(text: str) -> str:
    """The same with the commands of the actions that it names."""
    for said, command in _COMMANDS.items():
        text = text.replace(said, command)
    return text
