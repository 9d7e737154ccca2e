"""Which key a job was submitted under, by its number: beside the job's own name and comment, which a site may have changed.

It is only remembered. Without it a job is told of by its name, and where that is not the key it is looked for by its key.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping

#: Twice as many as an agent can have (``max_executions``): those that it asks after are never among the forgotten.
_MOST = 10_000


class KnownKeys:
    """Of the jobs that were submitted, found or asked after last; those before are forgotten. From any thread."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._keys: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def learn(self, keys: Mapping[str, str]) -> None:
        """Number -> key. A number that a controller gave a second time is the new job's."""
        with self._lock:
            for number, key in keys.items():
                self._keys[number] = key
                self._keys.move_to_end(number)
            while len(self._keys) > self._most:
                self._keys.popitem(last=False)

    def of(self, number: str) -> str | None:
        """The key of a job; None where it is not known (any more)."""
        with self._lock:
            if number in self._keys:
                self._keys.move_to_end(number)
            return self._keys.get(number)

    def __len__(self) -> int:
        return len(self._keys)
