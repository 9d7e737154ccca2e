"""The addresses of all screens."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from tenure.model import euid

MOUNT = "/ui"
DASHBOARD = f"{MOUNT}/"
SIGN_IN = f"{MOUNT}/sign-in"
DESK = f"{MOUNT}/desk"
WORKERS = f"{MOUNT}/workers"
LEASES = f"{MOUNT}/leases"
WORKBENCH = f"{MOUNT}/workbench"
SEARCH = f"{MOUNT}/search"
RUNS = f"{MOUNT}/runs"
WORKFLOWS = f"{MOUNT}/workflows"
SCHEDULES = f"{MOUNT}/schedules"
APPROVALS = f"{MOUNT}/workbench/approvals"
SUBMISSIONS = f"{MOUNT}/submissions"
NODES = f"{MOUNT}/nodes"
SUBSCRIPTIONS = f"{MOUNT}/subscriptions"


def queue(queue_key: str) -> str:
    """The screen of a queue."""
    return f"{MOUNT}/queues/{quote(queue_key, safe='')}"


def subject(uid: int, fact: int | None = None) -> str:
    """The screen of a subject, at one of its facts where a number is given."""
    return f"{MOUNT}/subjects/{euid.format_euid(euid.SUBJECT, uid)}{_at(fact)}"


def worker(uid: int, fact: int | None = None) -> str:
    """The screen of a worker, at one of its facts where a number is given."""
    return f"{MOUNT}/workers/{euid.format_euid(euid.WORKER, uid)}{_at(fact)}"


def run(uid: int, fact: int | None = None, *, step: str | None = None) -> str:
    """The screen of a run, with one of its steps before the reader, or at one of its facts."""
    chosen = f"?{urlencode({'step': step})}" if step is not None else ""
    return f"{MOUNT}/runs/{euid.format_euid(euid.RUN, uid)}{chosen}{_at(fact)}"


def runs(**filters: str) -> str:
    """The list of runs, narrowed."""
    return f"{RUNS}?{urlencode(filters)}"


def submission(uid: int, fact: int | None = None) -> str:
    """The screen of a submission, at one of its facts where a number is given."""
    return f"{SUBMISSIONS}/{euid.format_euid(euid.SUBMISSION, uid)}{_at(fact)}"


def submissions(**filters: str) -> str:
    """The list of submissions, narrowed."""
    return f"{SUBMISSIONS}?{urlencode(filters)}"


def node(name: str) -> str:
    """The screen of a management node."""
    return f"{NODES}/{quote(name, safe='')}"


def subscription(name: str, fact: int | None = None) -> str:
    """The screen of a subscription, at one of its facts where a number is given."""
    return f"{SUBSCRIPTIONS}/{quote(name, safe='')}{_at(fact)}"


def workflow(name: str, version: int | None = None) -> str:
    """The screen of a workflow, in one of its versions."""
    chosen = f"?version={version}" if version is not None else ""
    return f"{WORKFLOWS}/{quote(name, safe='')}{chosen}"


def workbench(view: str, **filters: str) -> str:
    """The workbench with dead letters or holds."""
    return f"{WORKBENCH}?{urlencode({'view': view} | filters)}"


def search(text: str) -> str:
    """What was found for a text."""
    return f"{SEARCH}?{urlencode({'q': text})}"


def sign_in(after: str) -> str:
    """The sign-in page that leads on to ``after``."""
    return f"{SIGN_IN}?{urlencode({'next': after})}" if after not in ("", DASHBOARD) else SIGN_IN


def _at(fact: int | None) -> str:
    return f"#fact-{fact}" if fact is not None else ""
