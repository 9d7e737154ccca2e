"""How the agent stands, for the server and for whoever asks ``tenure agent status``; written down when it changes."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tenure.agent.store.store import Store
from tenure.agent.telling import LOG
from tenure.model.errors import TenureError

SCHEDULER, SERVER, DISK, STATE = "scheduler_problem", "server_problem", "disk_problem", "state_problem"
DRAINING, RUNG = "draining", "rung"
#: With one of these no new work is taken: it would only wait here.
IN_THE_WAY = frozenset({SCHEDULER, DISK, STATE})


class Standing:
    """Shared by the agent's threads."""

    def __init__(self, store: Store, clock: Callable[[], float], changed: Callable[[], None]) -> None:
        self._store, self._clock, self._changed = store, clock, changed
        self._lock = threading.Lock()
        self._problems: dict[str, str] = {}
        self.scheduler_name: str | None = None
        self.draining = False
        for name in (SCHEDULER, SERVER, DISK, STATE):
            self._write(name, None)  # what held the process before

    def problem(self, name: str) -> str | None:
        """What is wrong, if something is."""
        return self._problems.get(name)

    def troubled(self, name: str, said: str) -> None:
        """Something is wrong: told once, until it is over or another."""
        with self._lock:
            if self._problems.get(name) == said:
                return
            self._problems[name] = said
        LOG.error("%s", said)
        self._write(name, said)
        self._changed()

    def fine(self, name: str) -> None:
        """It is over."""
        with self._lock:
            if self._problems.pop(name, None) is None:
                return
        LOG.info("Over: %s.", name.replace("_", " "))
        self._write(name, None)
        self._changed()

    def scheduler_is(self, name: str) -> None:
        """The scheduler answers, and is called so."""
        self.scheduler_name = name
        self._write("scheduler", name)
        self._changed()

    def note(self, name: str, value: str) -> None:
        """Anything else that is worth knowing."""
        self._write(name, value)

    def drain(self, wanted: bool) -> None:
        """Take nothing new, or take work again."""
        if wanted != self.draining:
            self.draining = wanted
            LOG.info("Draining: nothing new is taken." if wanted else "No longer draining: work is taken again.")
            self._changed()

    def accepts(self) -> bool:
        """Whether new work would be of use here."""
        return not self.draining and not IN_THE_WAY & self._problems.keys()

    def _write(self, name: str, value: str | None) -> None:
        try:
            self._store.set_condition(name, value, self._clock())
        except TenureError as error:
            LOG.warning("%s", error)
