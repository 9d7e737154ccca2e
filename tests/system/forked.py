"""Imported once, by the process that others are forked from: all that each of them would do anew at its start is done."""

from __future__ import annotations

import tests.system.killed  # noqa: F401 - with all that it imports
from tenure.sdk.worker.worker import _spare_the_collector

_spare_the_collector()
