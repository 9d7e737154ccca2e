"""The memory store: the model itself, run over dicts. It is the reference that every other store is compared with.

For tests, for trying things out, and for reading: whatever a store must do is said here in plain Python. Nothing
outlives the process, and a claim looks at every subject of the tenant.
"""

from tenure.store.memory.clock import StandingClock
from tenure.store.memory.store import MemoryStore

__all__ = ["MemoryStore", "StandingClock"]
