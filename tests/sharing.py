"""How several processes share the tests (``pytest -n 3``): file by file, so that what a file sets up is made once.

Files with long tests come first, so that none is left alone with one at the end. A folder whose fixtures are made for the
whole folder is one piece.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadFileScheduling

_WHOLE_FOLDERS = ("ui",)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling:
    from xdist.scheduler import LoadFileScheduling

    class ByFileOrFolder(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            folder = Path(file).parent.name
            return folder if folder in _WHOLE_FOLDERS else file

        def _reschedule(self, node: Any) -> None:
            # A process that takes the place of one that died gets its share once it has collected.
            if node in self.registered_collections:
                super()._reschedule(node)

    config.option.loadscopereorder = False  # in the order below, not by the number of tests
    return ByFileOrFolder(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        long = {item.path for item in items if item.get_closest_marker("slow")}
        items.sort(key=lambda item: not (item.path in long or item.path.parent.name in _WHOLE_FOLDERS))
