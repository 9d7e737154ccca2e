"""What the frame of every page holds: where one can go, and which keys do what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenure.model.roles import Permission
from tenure.ui import places

_PLACES: list[dict[str, Any]] = [
    {"key": "queues", "label": "Queues", "href": places.DASHBOARD, "letter": "q", "icon": "M4 6h16M4 12h16M4 18h10"},
    {"key": "desk", "label": "My desk", "href": places.DESK, "letter": "d", "icon": "M4 19V9l8-5 8 5v10M9 19v-6h6v6"},
    {"key": "workbench", "label": "Workbench", "href": places.WORKBENCH, "letter": "b",
     "about": "Workbench: dead letters, holds and approvals", "icon": "M12 4 3 19h18L12 4ZM12 10v4M12 16.5v.2"},
    {"key": "runs", "label": "Runs", "href": places.RUNS, "letter": "u",
     "icon": "M9 4h6v5H9zM4 15h6v5H4zM14 15h6v5h-6zM12 9v3M7 15v-3h10v3"},
    {"key": "remote", "label": "Remote", "href": places.SUBMISSIONS, "letter": "s",
     "about": "Remote: submissions to management nodes",
     "icon": "M4 4h16v6H4zM4 14h10v6H4zM7.5 7v.1M7.5 17v.1M17 13v5M14.8 15.8 17 18l2.2-2.2"},
    {"key": "workers", "label": "Workers", "href": places.WORKERS, "letter": "w",
     "icon": "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM3 20c0-4 3-6 6-6s6 2 6 6M16 5a3.5 3.5 0 0 1 0 6M18 14.5c2 .8 3 2.8 3 5.5"},
    {"key": "leases", "label": "Leases", "href": places.LEASES, "letter": "l",
     "icon": "M12 21a8 8 0 1 0 0-16 8 8 0 0 0 0 16ZM12 9v4l3 2M10 2h4"},
    {"key": "events", "label": "Events", "href": places.SUBSCRIPTIONS, "letter": "e", "needs": Permission.OPERATE,
     "about": "Events: subscriptions and what they gave up",
     "icon": "M4 18.5a1.5 1.5 0 1 0 3 0 1.5 1.5 0 0 0-3 0ZM4 11a9 9 0 0 1 9 9M4 4a16 16 0 0 1 16 16"},
]  # fmt: skip


def navigation(may: Callable[[Permission], bool]) -> list[dict[str, Any]]:
    """Where one can go who may that much."""
    return [
        {name: place[name] for name in ("key", "label", "href", "letter", "icon")}
        for place in _PLACES if "needs" not in place or may(place["needs"])
    ]  # fmt: skip


def keys(may: Callable[[Permission], bool]) -> list[list[str]]:
    """Which keys do what, for the help."""
    there = {place["key"] for place in navigation(may)}
    return [
        ["/", "Find a subject by EUID, reference or name"],
        ["?", "This help"],
        ["j", "Next row of the list"],
        ["k", "Previous row"],
        ["Enter", "Open the row"],
        ["x", "Select the row, where several can be selected"],
        *([f"g {place['letter']}", place.get("about", place["label"])] for place in _PLACES if place["key"] in there),
        ["c", "On a queue or the desk: claim the next item"],
        ["h", "On a subject: place a hold"],
        ["r", "On a subject: requeue"],
        ["Ctrl Enter", "In a form: send it"],
    ]
