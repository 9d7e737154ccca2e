"""The PostgreSQL store: the store port over statement files, a room for each part of it."""

from __future__ import annotations

from tenure.store.postgres.identities import Identities
from tenure.store.postgres.leasing import Leasing
from tenure.store.postgres.ledger import Ledger
from tenure.store.postgres.searching import Searching
from tenure.store.postgres.submission import Submissions
from tenure.store.postgres.threads import Threads
from tenure.store.postgres.verifying import Verifying


class PostgresStore(Submissions, Leasing, Threads, Searching, Ledger, Verifying, Identities):
    """Implements ``tenure.store.port.Store`` on PostgreSQL 15 and newer (design 01, Tables).

    ``notify`` sends a hint to waiting workers when work becomes claimable; correctness never depends on it.
    """

    def __init__(self, *, notify: bool = True) -> None:
        super().__init__()
        self.notify = notify
