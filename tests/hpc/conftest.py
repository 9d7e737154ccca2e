"""One real Slurm for all tests of a process: ``make test-hpc``. It is in a folder of its own and leaves nothing behind."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psycopg
import pytest

from tenure.agent.settings import Kind
from tenure.demo.hpc.slurm import SlurmCluster, missing_programs
from tenure.demo.hpc.stage import QUICK, Manners, Node, Server
from tests.conftest import fresh_database
from tests.hpc.house import wait_until

MakeNode = Callable[..., Node]
_numbers = itertools.count(1)

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.hpc)
            if item.get_closest_marker("timeout") is None:
                # What takes too long here fails alone, and what it started is stopped.
                item.add_marker(pytest.mark.timeout(300, method="signal"))


@pytest.fixture(scope="session")
def slurm(short_folder: Path) -> Iterator[SlurmCluster]:
    """A Slurm that all tests share. Partitions: ``tenure.demo.hpc.slurm.site``; a test that stops it makes its own."""
    missing = missing_programs()
    if missing:
        pytest.skip(f"Slurm is not installed: {', '.join(missing)} (Debian, as root: tools/system-packages.sh)")
    with SlurmCluster(short_folder / "slurm") as cluster:
        yield cluster


@pytest.fixture
def on_slurm(slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> SlurmCluster:
    """The shared Slurm, with the environment set so that its programs, run from here, find it."""
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    return slurm


@pytest.fixture(scope="session")
def server(
    admin: psycopg.Connection, pg_server: str, migrated_template: str, short_folder: Path, slurm: SlurmCluster
) -> Iterator[Server]:
    """``tenure serve``, a process of its own, that all tests share."""
    for dsn in fresh_database(admin, pg_server, migrated_template):
        server = Server(dsn, "hpc", short_folder)
        try:
            server.start()
            yield server
        finally:
            server.stop()


@pytest.fixture(scope="session")
def make_node(server: Server, slurm: SlurmCluster, short_folder: Path) -> Iterator[MakeNode]:
    """Defines a management node and starts its agent, a process of its own: on Slurm, or with ``aiida`` on AiiDA."""
    made: list[Node] = []

    def make(
        watch: Mapping[str, float] | None = None, aiida: Mapping[str, object] | None = None, **slurm_settings: object
    ) -> Node:
        name = f"node-{next(_numbers)}"
        kind = Kind.SLURM if aiida is None else Kind.AIIDA
        manners = Manners(kind, {"settle_seconds": 1} | slurm_settings, aiida or {}, watch or QUICK)
        node = Node(server, slurm, name, short_folder / name, manners)
        made.append(node)
        node.start_agent()
        wait_until("the server has heard of the node", node.heard_of, 120, node.agent.tail)
        return node

    yield make
    for node in made:
        node.stop()


@pytest.fixture(scope="session")
def node(make_node: MakeNode) -> Node:
    """A node as nodes are: Slurm begins nothing anew."""
    return make_node()
