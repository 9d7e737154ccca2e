"""Which state folder it is, and whose."""

from __future__ import annotations

import shutil
from pathlib import Path

from tenure.agent.folder import claim_folder
from tenure.agent.settings import load_settings
from tenure.agent.store.store import Store


def folder_id(folder: Path) -> str:
    folder.mkdir(exist_ok=True)
    store = Store(folder)
    try:
        return claim_folder(store, load_settings(node="node-1", kind="local", state_folder=folder), 0.0)
    finally:
        store.close()


def test_a_folder_has_one_id_wherever_it_is_moved_and_a_copy_of_it_another(tmp_path: Path) -> None:
    first = folder_id(tmp_path / "first")
    assert folder_id(tmp_path / "first") == first
    assert folder_id(tmp_path / "second") != first
    (tmp_path / "first").rename(tmp_path / "moved")
    assert folder_id(tmp_path / "moved") == first
    shutil.copytree(tmp_path / "moved", tmp_path / "copy")
    assert folder_id(tmp_path / "copy") not in (first, folder_id(tmp_path / "second"))
