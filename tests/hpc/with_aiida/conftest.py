"""A profile of AiiDA and its daemon, on the Slurm of the tests. Run with the Python of ``.venv-aiida``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.demo.hpc.slurm import SlurmCluster
from tenure.demo.hpc.stage import Node
from tests.hpc.conftest import MakeNode
from tests.hpc.with_aiida import profile
from tests.hpc.with_aiida.bench import SHIM, AiidaBench, Site, stop


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # AiiDA's programs start slowly where others need the processors, too.
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(900))


@pytest.fixture(scope="session")
def site(slurm: SlurmCluster, short_folder: Path) -> Iterator[Site]:
    pytest.importorskip("aiida", reason="AiiDA is not installed here: make test-hpc has an environment for it")
    made = Site(slurm, short_folder / "site")
    (made.folder / "aiida").mkdir(parents=True)
    made.trouble.mkdir()
    programs = made.folder / "programs"
    programs.mkdir()
    sbatch = subprocess.run(["which", "sbatch"], capture_output=True, text=True, check=True).stdout.strip()
    (programs / "sbatch").write_text(SHIM.format(trouble=made.trouble, sbatch=sbatch))
    (programs / "sbatch").chmod(0o755)
    path = os.environ["PATH"]
    os.environ |= {"PATH": f"{programs}{os.pathsep}{path}", **slurm.environment}
    subprocess.run([sys.executable, profile.__file__, made.folder / "aiida"], check=True, timeout=100)
    yield made
    stop(made.daemon())
    os.environ["PATH"] = path
    for name in slurm.environment:
        del os.environ[name]


@pytest.fixture(scope="module")
def aiida_bench(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AiidaBench]:
    bench = AiidaBench(site, tmp_path_factory.mktemp("jobs"))
    yield bench
    bench.close()


@pytest.fixture(scope="module")
def node(site: Site, make_node: MakeNode) -> Iterator[Node]:
    """A management node whose agent is ``tenure agent aiida``, at the server that all tests share."""
    made = make_node(aiida=site.section())
    yield made
    made.stop()  # before the site ends: an agent would start AiiDA's daemon again
