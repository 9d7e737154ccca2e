"""The vocabularies of S1: execution, lease, record, hold, dead letter and worker states."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """The authoritative state of a subject (S1 section 4.1)."""

    PENDING = "PENDING"
    READY = "READY"
    RUNNING = "RUNNING"
    WAITING_EXTERNAL = "WAITING_EXTERNAL"
    FAILED_RETRYABLE = "FAILED_RETRYABLE"
    FAILED_TERMINAL = "FAILED_TERMINAL"
    HELD = "HELD"
    CANCELED = "CANCELED"
    COMPLETED = "COMPLETED"


TERMINAL = frozenset({State.COMPLETED, State.CANCELED, State.FAILED_TERMINAL})
CLAIMABLE = frozenset({State.READY, State.FAILED_RETRYABLE})


class HoldState(StrEnum):
    """Whether a hold stops the subject (S1 section 1.3)."""

    NONE = "NONE"
    ACTIVE = "ACTIVE"
    TERMINAL = "TERMINAL"


class LeaseStatus(StrEnum):
    """The life of a lease (S1 section 6.1)."""

    ACTIVE = "ACTIVE"
    RELEASED = "RELEASED"
    COMPLETED = "COMPLETED"
    EXPIRED = "EXPIRED"
    ABANDONED = "ABANDONED"
    CANCELED = "CANCELED"


class RecordStatus(StrEnum):
    """The life of an execution record (S1 section 2.4)."""

    STARTED = "STARTED"
    SUCCEEDED = "SUCCEEDED"
    FAILED_RETRYABLE = "FAILED_RETRYABLE"
    FAILED_TERMINAL = "FAILED_TERMINAL"
    CANCELED = "CANCELED"
    EXPIRED = "EXPIRED"


class HoldStatus(StrEnum):
    """The life of a hold (S1 section 2.5)."""

    ACTIVE = "ACTIVE"
    RELEASED = "RELEASED"


class Resolution(StrEnum):
    """How a dead letter was resolved (S1 section 2.5)."""

    OPEN = "OPEN"
    REQUEUED = "REQUEUED"
    CANCELED = "CANCELED"
    IGNORED = "IGNORED"


class WorkerType(StrEnum):
    """Who works (S1 section 5.1)."""

    SERVICE = "SERVICE"
    HUMAN_SESSION = "HUMAN_SESSION"
    INSTRUMENT_ADAPTER = "INSTRUMENT_ADAPTER"


class WorkerStatus(StrEnum):
    """Whether a worker works (S1 section 2.3); OFFLINE is computed from a stale heartbeat, never stored."""

    ONLINE = "ONLINE"
    OFFLINE = "OFFLINE"
    DRAINING = "DRAINING"
    DISABLED = "DISABLED"
    RETIRED = "RETIRED"


class ErrorClass(StrEnum):
    """The classes of failure (S1 section 8.4)."""

    TRANSIENT_SYSTEM = "TRANSIENT_SYSTEM"
    TRANSIENT_DEPENDENCY = "TRANSIENT_DEPENDENCY"
    TRANSIENT_CAPACITY = "TRANSIENT_CAPACITY"
    PERMANENT_INPUT = "PERMANENT_INPUT"
    PERMANENT_STATE = "PERMANENT_STATE"
    BUSINESS_RULE_HOLD = "BUSINESS_RULE_HOLD"
    OPERATOR_CANCELED = "OPERATOR_CANCELED"


TRANSIENT = frozenset({ErrorClass.TRANSIENT_SYSTEM, ErrorClass.TRANSIENT_DEPENDENCY, ErrorClass.TRANSIENT_CAPACITY})
