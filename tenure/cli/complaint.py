"""Tells people what went wrong: code, what happened, what to do next; never a stack trace for a mistake of theirs."""

from __future__ import annotations

import json
import sys
import traceback

import psycopg

from tenure.cli.exit_codes import ExitCode
from tenure.embedded.diagnosis import disk_is_full
from tenure.model.errors import InvalidPayload, InvalidRequest, StoreUnavailable, TenureError
from tenure.sdk.public_form import public
from tenure.store.postgres.translation import translated
from tenure.terminal.in_commands import in_commands
from tenure.terminal.wording import shown

_UNAVAILABLE = 503


class OutputFull(TenureError):
    """The disk is full to which a command's output, or a file of its own, goes."""

    code = "no_space"
    status = 507


def complain(error: BaseException, *, as_json: bool, verbose: bool) -> ExitCode:
    """Write an error to stderr and say with which status to end."""
    told = as_told(error)
    if told is None and hasattr(error, "format_message"):  # the command line itself cannot be understood
        _write("usage", str(error.format_message()), "See tenure COMMAND --help.", as_json, {})
        return ExitCode.USAGE
    if told is None:
        _write("internal_error", f"{type(error).__name__}: {error}",
               "This is a defect of Tenure. Run it again with --verbose and report what it prints.", as_json, {})  # fmt: skip
    else:
        _write(told.code, told.message, in_commands(told.hint), as_json, told.evidence)
    if verbose:
        traceback.print_exception(error)
    if told is None:
        return ExitCode.DEFECT
    return ExitCode.UNAVAILABLE if told.status == _UNAVAILABLE else ExitCode.REFUSED


def as_told(error: BaseException) -> TenureError | None:
    """The error for people behind an exception; None for a defect of our own."""
    if isinstance(error, RecursionError):
        return InvalidPayload("The JSON is nested too deeply.", "Flatten it, or keep it in a payload and refer to it.")
    if isinstance(error, UnicodeError):
        return InvalidRequest("An argument is not valid Unicode text.", "Type it again, in UTF-8.")
    if isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None:
        return InvalidRequest(f"This is no PostgreSQL DSN: {str(error).strip()}.",
                              "Give one like postgresql://user@host:5432/database.")  # fmt: skip
    if isinstance(error, OSError) and disk_is_full(error):
        where = f" for {error.filename}" if error.filename else ""
        return OutputFull(
            f"There is no space left{where}.",
            "Make room where the output goes, or send it elsewhere. What the command had to do may be done: "
            "look before you repeat it.",
        )
    told = translated(error)
    if told is None and isinstance(error, psycopg.Error):
        return StoreUnavailable(f"The database answered: {str(error).strip()}.", "See the log of the server.")
    return told


def _write(code: str, message: str, hint: str, as_json: bool, evidence: object) -> None:
    if as_json:
        text = json.dumps(
            {"error": {"code": code, "message": message, "hint": hint, "evidence": public(evidence)}}, default=str
        )
    else:
        text = f"Error ({code}): {shown(message)}" + (f"\n{shown(hint)}" if hint else "")
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
