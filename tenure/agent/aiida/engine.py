"""AiiDA, held in one thread: its profile, its connection to the database and its event loop belong to a thread."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from tenure.agent.aiida.settings import AiidaSettings
from tenure.agent.errors import InvalidSettings

T = TypeVar("T")
_PROFILES = "See `verdi profile list`; name the profile, and the folder that holds .aiida, in the section [aiida]."


class Engine:
    """Runs what needs AiiDA, one thing after the other."""

    def __init__(self, settings: AiidaSettings) -> None:
        self._settings = settings
        self._thread: ThreadPoolExecutor | None = None

    def start(self) -> None:
        """Import AiiDA and load the profile. Raises InvalidSettings, and what AiiDA raises."""
        self._thread = ThreadPoolExecutor(1, "aiida")
        try:
            self.run(self._load)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Let go of the profile."""
        if self._thread is not None:
            self._thread.submit(_unload).result()
            self._thread.shutdown()
            self._thread = None

    def run(self, what: Callable[[], T]) -> T:
        """Do it in AiiDA's thread and return what it returns."""
        if self._thread is None:
            raise RuntimeError("The adapter is not open.")
        return self._thread.submit(what).result()

    def _load(self) -> None:
        asyncio.set_event_loop(asyncio.new_event_loop())
        # AiiDA looks for its own program on PATH, and reads it when it is first imported.
        os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        folder = self._settings.config_folder
        if folder is not None:
            if not (folder / ".aiida" / "config.json").exists():  # AiiDA would make it
                raise InvalidSettings(f"There is no AiiDA in {folder}: it has no .aiida/config.json.", _PROFILES)
            os.environ["AIIDA_PATH"] = str(folder)
        from aiida import load_profile  # noqa: PLC0415
        from aiida.common.exceptions import ConfigurationError  # noqa: PLC0415
        from aiida.manage.configuration.settings import AiiDAConfigDir  # noqa: PLC0415

        try:
            AiiDAConfigDir.set()
            load_profile(self._settings.profile)
        except ConfigurationError as error:
            raise InvalidSettings(f"The profile of AiiDA cannot be loaded: {error}.", _PROFILES) from error


def _unload() -> None:
    if "aiida.manage" in sys.modules:
        from aiida.manage import get_manager  # noqa: PLC0415

        get_manager().unload_profile()
    asyncio.get_event_loop_policy().get_event_loop().close()
