"""How several processes share the tests (``pytest -n 3``): file by file, so that what a file sets up is made once.

Files with long tests come first, so that none is left alone with one at the end. A folder whose fixtures are made for the
whole folder is one piece.
"""

from __future__ import annotations

from collections.abc import Sequence
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

        def remove_node(self, node: Any) -> str | None:
            """Takes back what is left of a process that died. The test it died of has failed: it is not tried once more."""
            files = self.assigned_work[node]
            if self.collection is None:
                self.registered_collections.pop(node, None)  # its successor collects in its place
            died_of = next((test for tests in files.values() for test, ended in tests.items() if not ended), None)
            if died_of is not None:
                files[self._split_scope(died_of)][died_of] = True
            for file in [file for file, tests in files.items() if all(tests.values())]:
                del files[file]  # a process that gets nothing to run says nothing, and all would wait for it
            super().remove_node(node)
            return died_of

        def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
            super().add_node_collection(node, collection)
            if node not in self.registered_collections:
                node.shutdown()  # it found other tests than the others had, so the run cannot end well, but it ends

        def _reschedule(self, node: Any) -> None:
            # A process that takes the place of one that died gets its share once it has collected.
            if node not in self.registered_collections:
                return
            super()._reschedule(node)
            # It runs a test when it knows of the next, or that there is none.
            while not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
                super()._reschedule(node)

    config.option.loadscopereorder = False  # in the order below, not by the number of tests
    return ByFileOrFolder(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        long = {item.path for item in items if item.get_closest_marker("slow")}
        items.sort(key=lambda item: not (item.path in long or item.path.parent.name in _WHOLE_FOLDERS))
