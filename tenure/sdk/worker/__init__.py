"""The worker runtime: one dispatcher a process, many executors (design 06, SDK).

Rooms: ``dispatcher`` claims, ``executing`` runs handlers, ``acknowledger`` reports, ``keeper`` renews, beats and sweeps,
``listener`` hears hints, ``link`` holds a connection and reopens it, ``worker`` starts and stops them all.
"""

from tenure.sdk.worker.options import WorkerOptions
from tenure.sdk.worker.worker import Worker

__all__ = ["Worker", "WorkerOptions"]
