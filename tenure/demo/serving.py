"""Leaves a server running behind the demonstration, so that what happened can be looked at in a browser."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tenure.api import background
from tenure.demo.stage import OPERATOR, Stage
from tenure.model.roles import Role

_SERVER = ("fastapi", "uvicorn", "nicegui")


@dataclass(frozen=True, slots=True)
class Visit:
    """Where to look, and how to sign in."""

    address: str
    name: str
    password: str


def installed() -> bool:
    """Whether what a server needs is there: the extra ``server``."""
    return all(find_spec(module) is not None for module in _SERVER)


def leave_running(stage: Stage, dsn: str) -> Visit:
    """Start a server for the tenant of the demonstration, with an admin who may sign in. Raises StoreUnavailable."""
    password = secrets.token_urlsafe(9)
    stage.client.create_principal(OPERATOR, display_name="Omar, who runs the laboratory", roles=(Role.ADMIN,))
    stage.client.set_password(OPERATOR, password)
    home = Path(os.environ.get("TENURE_HOME") or ".tenure").absolute()
    server = background.start(home, ["--tenant", stage.tenant], dsn=dsn)
    return Visit(f"{server.address}/ui", OPERATOR, password)
