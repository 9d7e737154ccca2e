"""With what the command ends (docs/reference/cli.md)."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What each exit status tells a script."""

    DONE = 0
    REFUSED = 1
    """Tenure refused, and said why: a code, what happened, what to do next."""
    USAGE = 2
    """The command line cannot be understood."""
    UNAVAILABLE = 3
    """No database answers, or it lacks the schema."""
    DIVERGES = 4
    """``verify`` found something, or a self-check of ``demo`` did."""
    DEFECT = 70
    """Tenure itself went wrong."""
    INTERRUPTED = 130
    """Ctrl-C."""
