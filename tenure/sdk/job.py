"""What a handler may know about the work it does: annotate a parameter with ``Job`` to get it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tenure.model import euid
from tenure.sdk.durable import Durable, Reach
from tenure.sdk.token import Token
from tenure.store.records import Claimed


@dataclass(slots=True, eq=False)
class Job(Durable):
    """One claimed subject in the hands of a handler.

    It also keeps what the code did: ``step``, ``sleep``, ``wait_event``, ``start_child``.
    """

    item: Claimed
    deadline: float
    """Until when the lease holds, on this process's monotonic clock, in seconds."""
    token: Token
    """What proves the lease; hand it to whoever reports the end of work that was dispatched."""
    told_lost: bool = False
    """Set by the runtime when it learns that the lease is lost."""
    reach: Reach | None = None

    @property
    def subject(self) -> str:
        """The EUID of the subject."""
        return euid.format_euid(euid.SUBJECT, self.item.subject)

    @property
    def lease(self) -> str:
        """The EUID of the lease."""
        return euid.format_euid(euid.LEASE, self.item.lease)

    @property
    def properties(self) -> Mapping[str, Any]:
        """The subject's properties as they were submitted."""
        return self.item.properties

    @property
    def attempt_number(self) -> int:
        """Which attempt this is, from 1."""
        return self.item.attempt_number

    @property
    def lost(self) -> bool:
        """True once the lease is lost: whatever is done from here on must not be reported as done."""
        return self.told_lost or time.monotonic() >= self.deadline
