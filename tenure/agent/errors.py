"""What goes wrong at a node, told to people: what happened, and what to do next."""

from __future__ import annotations

from tenure.model.errors import Conflict, InvalidRequest, TenureError


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


class StateFolderUnusable(TenureError):
    """The state folder or the file in it cannot be used."""

    code = "state_folder_unusable"
    status = 409


class Superseded(Conflict):
    """A newer agent of the same node has reported to the server; this one must stop."""

    code = "agent_superseded"


class AdapterMissing(InvalidRequest):
    """What the adapter needs is not installed."""

    code = "adapter_missing"
