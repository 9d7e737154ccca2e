"""What the demonstration stands on: a tenant of its own, a folder, clients for each person in it, and its workers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tenure.demo.crew import Crew
from tenure.sdk.client import Tenure
from tenure.sdk.tenants import tenant_exists

OPERATOR = "user:omar"
TECHNICIAN = "user:ada"
APPROVER = "user:olga"


@dataclass(frozen=True, slots=True)
class Stage:
    """One run of the demonstration."""

    tenant: str
    folder: Path
    client: Tenure
    """Acts as the operator."""
    technician: Tenure
    approver: Tenure
    crew: Crew

    @property
    def uploads(self) -> Path:
        """Where data sets arrive."""
        return self.folder / "uploads"

    @property
    def shop(self) -> Path:
        """Where the papers of orders lie."""
        return self.folder / "shop"

    def close(self) -> None:
        """Close the clients and make sure that no worker is left."""
        self.crew.abandon()
        self.client.close()
        self.technician.close()
        self.approver.close()


def set_up(dsn: str) -> Stage:
    """A tenant that no run had before, ``demo-1``, ``demo-2``, ..., and its folder below ``.tenure/demo-artifacts``."""
    home = Path(os.environ.get("TENURE_HOME") or ".tenure").absolute() / "demo-artifacts"
    tenant = _fresh_tenant(dsn, home)
    folder = home / tenant
    for each in ("uploads", "artifacts", "shop", "logs"):
        (folder / each).mkdir(parents=True, exist_ok=True)
    client = Tenure(dsn, tenant=tenant, actor=OPERATOR, max_connections=2, create_tenant=True)
    technician = Tenure(dsn, tenant=tenant, actor=TECHNICIAN, max_connections=2, create_tenant=True)
    approver = Tenure(dsn, tenant=tenant, actor=APPROVER, max_connections=1)
    return Stage(tenant, folder, client, technician, approver, Crew(dsn, tenant, folder / "logs"))


def _fresh_tenant(dsn: str, home: Path) -> str:
    # Neither a tenant of this database nor a folder that a run on another database has left.
    names = (f"demo-{number}" for number in count(1))
    return next(key for key in names if not (home / key).exists() and not tenant_exists(dsn, key))
