"""The names by which one thing is known on both sides of the border (decision 13)."""

from __future__ import annotations

from uuid import UUID, uuid5

from tenure.model import euid
from tenure.model.errors import InvalidEuid
from tenure.model.worker import NODE_CAPABILITY

#: The template of what stands for a submission.
TEMPLATE = "remote/submission/1.0"
_NAMESPACE = UUID("6f1d3b52-5b0e-5a0a-9d7e-2f6a3c1c8e41")
_QUEUE = "remote."


def queue_key_of(node: str) -> str:
    """The key of the queue that a node serves, and of the worker that the node is."""
    return f"{_QUEUE}{node}"


def capability_of(node: str) -> str:
    """What a worker needs to take from the queue of a node."""
    return f"{NODE_CAPABILITY}{node}"


def submission_id_of(uid: int) -> str:
    """The opaque id of a submission: its EUID."""
    return euid.format_euid(euid.SUBMISSION, uid)


def submission_uid(submission_id: str) -> int | None:
    """The uid behind a submission's id; None for what is none."""
    try:
        uid = euid.parse_euid(submission_id)
    except InvalidEuid:
        return None
    return uid if submission_id_of(uid) == submission_id else None


def execution_id_of(submission_id: str, number: int) -> str:
    """The id of a submission's n-th execution, known before anything is submitted."""
    return str(uuid5(_NAMESPACE, f"{submission_id}:{number}"))


def projection_event_id_of(submission_id: str, round_: int, stage: int) -> str:
    """The id of an update: the same each time that it is sent."""
    return str(uuid5(_NAMESPACE, f"{submission_id}:projection:{round_}:{stage}"))
