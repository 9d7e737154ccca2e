"""Which versions of a workflow the code of workers has: what a run goes by should be among them (design 02, Model)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from tenure.flow.model.explain_steps import MANY
from tenure.model import euid
from tenure.model.eligibility import takes_claims
from tenure.model.visibility import Reason
from tenure.model.worker import Worker


def not_served(workflow: str, version: int, workers: Iterable[Worker], now: datetime) -> Reason | None:
    """Told where workers that are online define this workflow, and none of them this version.

    A workflow that no code defines, but a file, is nobody's: nothing is told of it.
    """
    others = [
        (worker, found) for worker in workers if takes_claims(worker, now) and (found := _versions(worker, workflow))
    ]
    if not others or any(version in found for _, found in others):
        return None
    newest = max(max(found) for _, found in others)
    return Reason(
        "version_not_served",
        f"The run goes by version {version} of workflow {workflow!r}, and no online worker's code has that version.",
        f"Start a worker with the code of version {version}; or pause the run and migrate it to version {newest}.",
        {"workflow": workflow, "version": version,
         "workers": [
             {"worker": euid.format_euid(euid.WORKER, w.uid), "worker_key": w.worker_key, "versions": sorted(found)}
             for w, found in others[:MANY]
         ],
         "actions": ["migrate", "cancel"]},
        blocking=False,
    )  # fmt: skip


def _versions(worker: Worker, workflow: str) -> list[int]:
    said = (each.rpartition("@") for each in worker.workflows)
    return [int(version) for name, _, version in said if name == workflow and version.isdecimal()]
