"""What workflows refuse, on top of the kernel's errors: a stable code, what happened, what to do next."""

from __future__ import annotations

from tenure.model.errors import Conflict, InvalidRequest, NotFound


class InvalidDefinition(InvalidRequest):
    """A workflow definition that cannot be; ``problems`` in the evidence names every one with its step."""

    code = "invalid_definition"
    status = 422


class WorkflowUnknown(NotFound):
    """No workflow of that name and version is registered."""

    code = "workflow_unknown"


class RunUnknown(NotFound):
    """No run of that identity, for this tenant."""

    code = "run_unknown"


class RunEnded(Conflict):
    """The run has ended, and nothing is appended to it any more."""

    code = "run_ended"


class RunKeyConflict(Conflict):
    """The run key is taken by a run of another workflow, version or input."""

    code = "run_key_conflict"


class BoundaryConflict(Conflict):
    """No such manual boundary is open, or another decision was made on it (S3, Manual Boundaries)."""

    code = "boundary_conflict"


class ResultConflict(Conflict):
    """A runnable ended before, with another result (S3, Completion And Retry)."""

    code = "result_conflict"


class ChildKeyConflict(Conflict):
    """The child key was used before for another child (S3, Child Run Lineage)."""

    code = "child_key_conflict"


class UnsafeReplay(Conflict):
    """Work that cannot be undone ran already; doing it again must be forced, with a reason."""

    code = "unsafe_replay"


class VersionDrift(Conflict):
    """The definition at hand is not the one that the run goes by."""

    code = "version_drift"


class IncompatibleVersion(Conflict):
    """A run cannot go on under that version; ``problems`` in the evidence says why."""

    code = "incompatible_version"


class NotPaused(Conflict):
    """This needs a run that is paused."""

    code = "run_not_paused"


class SignalsFull(Conflict):
    """So many signals wait to be taken that no more are kept."""

    code = "signals_full"


class RunActive(Conflict):
    """This needs a run that has ended."""

    code = "run_active"
