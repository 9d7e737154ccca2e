"""Reads how the script ended (entry point ``tenure.execution`` of ``aiida.parsers``)."""

from __future__ import annotations

from typing import Any

from aiida.engine import ExitCode
from aiida.parsers.parser import Parser

from tenure.agent.aiida import codes

#: How ``timeout`` ends, where there is no scheduler to limit the time.
_TIME_IS_OVER = 124


class ExecutionParser(Parser):
    """The exit code that the script left; without one the job was ended from outside."""

    def parse(self, **kwargs: Any) -> ExitCode | None:
        """Return the exit code of the process; None lets what the scheduler said stand."""
        if self.node.exit_status:
            return None
        known: Any = self.exit_codes
        try:
            status = int(self.retrieved.base.repository.get_object_content(codes.STATUS_FILE, mode="r"))
        except (FileNotFoundError, ValueError):
            return _code(known.ERROR_NO_EXIT_CODE)
        if status == _TIME_IS_OVER and self.node.get_option("limit_seconds"):
            return _code(known.ERROR_SCHEDULER_OUT_OF_WALLTIME)
        return ExitCode(0) if status == 0 else _code(known.ERROR_EXIT_CODE_NOT_ZERO, status=str(status))


def _code(known: ExitCode, **words: str) -> ExitCode:
    return known.format(**words) if words else known
