"""What goes wrong at a node, told to people: what happened, and what to do next."""

from __future__ import annotations

from tenure.model.errors import Conflict, InvalidRequest, NotFound, StoreUnavailable, TenureError


class InvalidSettings(InvalidRequest):
    """``agent.toml`` cannot be read, or says what cannot be."""

    code = "invalid_settings"


class StateFolderInUse(Conflict):
    """Another agent works in this state folder."""

    code = "state_folder_in_use"


class StateTooNew(TenureError):
    """The state folder was written by a newer version."""

    code = "state_too_new"
    status = 409


class StateFolderUnusable(StoreUnavailable):
    """The state folder or the file in it cannot be used (now)."""

    code = "state_folder_unusable"


class NoAgentHere(NotFound):
    """No agent has ever worked in this folder."""

    code = "no_agent_here"


class ExecutionNotHere(NotFound):
    """The agent of this folder was never given such an execution, or has forgotten it."""

    code = "execution_not_here"


class ExecutionOver(Conflict):
    """The execution has ended, and the server is told so."""

    code = "execution_over"


class Superseded(Conflict):
    """While this agent was away, another one took its place; this one must stop."""

    code = "agent_superseded"


class AnotherAgent(Conflict):
    """The node has an agent that works in another state folder; this one must stop."""

    code = "node_has_agent"


class AdapterMissing(InvalidRequest):
    """What the adapter needs is not installed."""

    code = "adapter_missing"
