"""A real server that the tests of the border share, and a tenant with a node for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.conftest import Running, Site, _numbers, api_database, clock, make_server, server
from tests.remote.border import Border

__all__ = ["api_database", "clock", "make_server", "server"]


@pytest.fixture
def site(server: Running) -> Iterator[Site]:
    made = Site(server, f"border{next(_numbers)}")
    yield made
    made.close()


@pytest.fixture
def border(site: Site) -> Border:
    return Border(site)
