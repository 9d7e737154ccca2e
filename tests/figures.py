"""What tests went through, in numbers, told at the end of each run: whoever reads a log sees that they went somewhere.

Printed output of a test that passes is not shown, least of all that of another process; reports carry these.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

_NAME = "figures"


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """``tell("claims 512, conflicts 40")`` has the line printed at the end of the run, under the name of the test."""
    return lambda line: request.node.user_properties.append((_NAME, line))


class Figures:
    """Gathers the lines from the reports of all processes, and prints them."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            test = report.nodeid.rpartition("::")[2]
            self._lines += [f"{test}: {line}" for name, line in report.user_properties if name == _NAME]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._lines:
            terminalreporter.section("figures")
            for line in sorted(self._lines):
                terminalreporter.line(line)
