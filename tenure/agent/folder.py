"""Whose a state folder is: one node's, and as long as it has jobs, one scheduler's; and which folder it is."""

from __future__ import annotations

import uuid

from tenure.agent.errors import InvalidSettings
from tenure.agent.settings import AgentSettings
from tenure.agent.store.opening import FILE
from tenure.agent.store.store import Store

_ID = "folder"


def claim_folder(store: Store, settings: AgentSettings, now: float) -> str:
    """See that the folder is this node's and write that down. The folder's id, the same each time. Raises InvalidSettings.

    A copy of a folder is another one: what it says of jobs may have gone on without it.
    """
    conditions = store.conditions()
    node, kind, known = (conditions.get(name, (None, 0.0))[0] for name in ("node", "kind", _ID))
    if node not in (None, settings.node):
        raise InvalidSettings(
            f"The state folder {settings.folder} is node {node}'s, not {settings.node}'s.",
            "Give each node a folder of its own.",
        )
    if kind not in (None, settings.kind) and store.open_executions():
        raise InvalidSettings(
            f"The state folder {settings.folder} has executions on {kind}, which {settings.kind} knows nothing of.",
            f"Run `tenure agent {kind}` until they have ended (tenure agent drain --wait), then change.",
        )
    store.set_condition("node", settings.node, now)
    store.set_condition("kind", str(settings.kind), now)
    if known is None:
        known = str(uuid.uuid4())
        store.set_condition(_ID, known, now)
    return str(uuid.uuid5(uuid.UUID(known), str((settings.folder / FILE).stat().st_ino)))
