"""The way in and the way out: whatever happens in a command ends here, with a message and an exit status."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache

from typer.main import get_command

from tenure.cli.application import application
from tenure.cli.complaint import complain
from tenure.cli.exit_codes import ExitCode
from tenure.cli.global_options import to_the_front


@cache
def _command() -> Callable[..., object]:
    """The command line, worked out from the functions' signatures once for a process."""
    return get_command(application)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (``sys.argv`` by default) and return its exit status."""
    given = to_the_front(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in given
    # What the pool says of a database that is away, the command says itself.
    logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())
    try:
        ended = _command()(args=given, prog_name="tenure", standalone_mode=not as_json)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else (ExitCode.DONE if end.code is None else ExitCode.REFUSED)
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough (tenure ... | head).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.DONE
    except BaseException as error:
        return complain(error, as_json=as_json, verbose="--verbose" in given or "-v" in given)
    return ended if isinstance(ended, int) else ExitCode.DONE
