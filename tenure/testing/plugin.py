"""The pytest plugin: a server, fresh databases, a movable clock and a client for tests of tasks.

pytest loads it where Tenure is installed (entry point ``pytest11``); imports wait until a fixture is asked for. How to
use it: docs/how-to/test-your-tasks.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tenure.sdk.client import Tenure
    from tenure.testing.clock import MovableClock
    from tenure.testing.databases import Databases


@pytest.fixture(scope="session")
def tenure_server() -> Iterator[str]:
    """The DSN of a PostgreSQL for the whole run: ``TENURE_TEST_DSN``, or an embedded one. Override it to use your own."""
    from tenure.testing.databases import server  # noqa: PLC0415 - a run that asks for no fixture pays for no import

    with server() as dsn:
        yield dsn


@pytest.fixture(scope="session")
def tenure_databases(tenure_server: str) -> Iterator[Databases]:
    """Makes the databases of the run."""
    from tenure.testing.databases import Databases  # noqa: PLC0415

    databases = Databases(tenure_server)
    yield databases
    databases.close()


@pytest.fixture
def tenure_database(tenure_databases: Databases) -> Iterator[str]:
    """The DSN of a fresh database with Tenure's schema, dropped after the test."""
    with tenure_databases.fresh() as dsn:
        yield dsn


@pytest.fixture
def tenure_clock() -> MovableClock:
    """A clock that stands still until the test moves it."""
    from tenure.testing.clock import MovableClock  # noqa: PLC0415

    return MovableClock()


@pytest.fixture
def tenure_app(tenure_database: str, tenure_clock: MovableClock) -> Iterator[Tenure]:
    """A client on a fresh database whose time is that of ``tenure_clock``."""
    from tenure.sdk.client import Tenure  # noqa: PLC0415

    with Tenure(tenure_database, clock=tenure_clock, actor="user:test") as app:
        yield app
