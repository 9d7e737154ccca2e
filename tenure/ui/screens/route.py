"""Which screen belongs to which address."""

from __future__ import annotations

from tenure.ui.places import MOUNT
from tenure.ui.screen import Screen
from tenure.ui.screens.approvals import Approvals
from tenure.ui.screens.dashboard import Dashboard
from tenure.ui.screens.desk import Desk
from tenure.ui.screens.leases import Leases
from tenure.ui.screens.node import NodeScreen
from tenure.ui.screens.nodes import Nodes
from tenure.ui.screens.problem import NoSuchPage
from tenure.ui.screens.queue import QueueScreen
from tenure.ui.screens.run import RunScreen
from tenure.ui.screens.runs import Runs
from tenure.ui.screens.schedules import Schedules
from tenure.ui.screens.search import Search
from tenure.ui.screens.subject import SubjectScreen
from tenure.ui.screens.submission import SubmissionScreen
from tenure.ui.screens.submissions import Submissions
from tenure.ui.screens.subscription import SubscriptionScreen
from tenure.ui.screens.subscriptions import Subscriptions
from tenure.ui.screens.workbench import Workbench
from tenure.ui.screens.worker import WorkerScreen
from tenure.ui.screens.workers import Workers
from tenure.ui.screens.workflow import WorkflowScreen
from tenure.ui.screens.workflows import Workflows

ROUTES: tuple[tuple[str, type[Screen], str], ...] = (
    ("/", Dashboard, "queues"),
    ("/queues/{queue_key}", QueueScreen, "queues"),
    ("/subjects/{euid}", SubjectScreen, "queues"),
    ("/desk", Desk, "desk"),
    ("/workbench", Workbench, "workbench"),
    ("/workbench/approvals", Approvals, "workbench"),
    ("/runs", Runs, "runs"),
    ("/runs/{euid}", RunScreen, "runs"),
    ("/workflows", Workflows, "runs"),
    ("/workflows/{name}", WorkflowScreen, "runs"),
    ("/schedules", Schedules, "runs"),
    ("/submissions", Submissions, "remote"),
    ("/submissions/{submission}", SubmissionScreen, "remote"),
    ("/nodes", Nodes, "remote"),
    ("/nodes/{node}", NodeScreen, "remote"),
    ("/subscriptions", Subscriptions, "events"),
    ("/subscriptions/{name}", SubscriptionScreen, "events"),
    ("/workers", Workers, "workers"),
    ("/workers/{euid}", WorkerScreen, "workers"),
    ("/leases", Leases, "leases"),
    ("/search", Search, ""),
)


def found(path: str) -> tuple[type[Screen], dict[str, str]]:
    """The screen for a path below the mount, with the parameters in it."""
    for pattern, kind, _ in ROUTES:
        parameters = _matched(pattern, path)
        if parameters is not None:
            return kind, parameters
    return NoSuchPage, {}


def place_of(path: str) -> str:
    """The entry of the navigation that a path belongs to."""
    below = path.removeprefix(MOUNT)
    return next((place for pattern, _, place in ROUTES if _matched(pattern, below) is not None), "")


def _matched(pattern: str, path: str) -> dict[str, str] | None:
    wanted, given = pattern.strip("/").split("/"), path.strip("/").split("/")
    # A queue's key may hold slashes: the last parameter takes the rest.
    if pattern.endswith("}") and len(given) > len(wanted):
        given = [*given[: len(wanted) - 1], "/".join(given[len(wanted) - 1 :])]
    if len(wanted) != len(given):
        return None
    parameters = {}
    for want, have in zip(wanted, given, strict=True):
        if want.startswith("{"):
            parameters[want[1:-1]] = have
        elif want != have:
            return None
    return parameters
