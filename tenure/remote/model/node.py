"""What is said of a management node when it is defined: how its queues map to the scheduler's, and its manners."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from tenure.model.errors import InvalidRequest
from tenure.model.queue import RetryPolicy
from tenure.remote.model.fields import Id, Integer

_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
_LONGEST = 100
NodeName = Annotated[str, StringConstraints(min_length=1, max_length=_LONGEST, pattern=f"^{_NAME}$")]
"""How a node is named everywhere: ``management_node_id`` in contracts."""
_MOST = 100


def check_name(name: str) -> None:
    """``InvalidRequest`` where it is no ``NodeName``."""
    if len(name) > _LONGEST or re.fullmatch(_NAME, name) is None:
        raise InvalidRequest(
            f"{name!r} is no name of a management node.",
            f"Take letters, digits, '_', '.' and '-', a letter or a digit first, {_LONGEST} at most.",
        )


class NodeQueue(BaseModel):
    """What ``queue_name`` means at the scheduler, and what may be asked for there."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    partition: Id | None = Field(None, description="The partition; None for the scheduler's default.")
    account: Id | None = Field(None, description="The account that is billed where the profile names none.")
    accounts: tuple[Id, ...] = Field((), max_length=_MOST, description="Accounts that a profile may name besides.")
    qos: Id | None = Field(None, description="The QOS where the profile names none.")
    qos_allowed: tuple[Id, ...] = Field((), max_length=_MOST, description="QOS that a profile may name besides.")
    max_walltime_seconds: Integer | None = Field(None, ge=1, le=366 * 86400)
    max_cpu: Integer | None = Field(None, ge=1, le=1_000_000)
    max_memory_mib: Integer | None = Field(None, ge=1, le=2**31)


class NodeSpec(BaseModel):
    """A management node as it is defined. Times in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    display_name: str = Field("", max_length=200, pattern=r"^[^\x00-\x1f]*$")
    queues: dict[Id, NodeQueue] = Field(
        min_length=1, max_length=_MOST, description="By queue_name.",
        examples=[{"normal": {"partition": "cpu", "account": "lab", "max_walltime_seconds": 86400}}],
    )  # fmt: skip
    silent_after_seconds: Integer = Field(
        120, ge=10, le=86400, description="Without a poll for so long it counts as silent: new submissions are refused."
    )
    lease_seconds: Integer = Field(
        300,
        ge=10,
        le=86400,
        description="How long work that was handed out may stay unaccepted before it is handed out anew.",
    )
    max_attempts: Integer = Field(
        3, ge=1, le=1000, description="How many executions a submission gets where failures are retryable."
    )
    retry: RetryPolicy = Field(default_factory=RetryPolicy)

    def told(self) -> dict[str, Any]:
        """What the fact of it carries: of its queues what was said, so that a hundred fit."""
        queues = {name: queue.model_dump(mode="json", exclude_defaults=True) for name, queue in self.queues.items()}
        return self.model_dump(mode="json") | {"queues": queues}
