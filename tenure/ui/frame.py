"""What the frame of every page holds: where one can go, and which keys do what."""

from __future__ import annotations

from tenure.ui import places

NAVIGATION = [
    {"key": "queues", "label": "Queues", "href": places.DASHBOARD, "letter": "q", "icon": "M4 6h16M4 12h16M4 18h10"},
    {"key": "desk", "label": "My desk", "href": places.DESK, "letter": "d", "icon": "M4 19V9l8-5 8 5v10M9 19v-6h6v6"},
    {"key": "workbench", "label": "Workbench", "href": places.WORKBENCH, "letter": "b",
     "icon": "M12 4 3 19h18L12 4ZM12 10v4M12 16.5v.2"},
    {"key": "runs", "label": "Runs", "href": places.RUNS, "letter": "u",
     "icon": "M9 4h6v5H9zM4 15h6v5H4zM14 15h6v5h-6zM12 9v3M7 15v-3h10v3"},
    {"key": "workers", "label": "Workers", "href": places.WORKERS, "letter": "w",
     "icon": "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM3 20c0-4 3-6 6-6s6 2 6 6M16 5a3.5 3.5 0 0 1 0 6M18 14.5c2 .8 3 2.8 3 5.5"},
    {"key": "leases", "label": "Leases", "href": places.LEASES, "letter": "l",
     "icon": "M12 21a8 8 0 1 0 0-16 8 8 0 0 0 0 16ZM12 9v4l3 2M10 2h4"},
]  # fmt: skip

KEYS = [
    ["/", "Find a subject by EUID, reference or name"],
    ["?", "This help"],
    ["j", "Next row of the list"],
    ["k", "Previous row"],
    ["Enter", "Open the row"],
    ["x", "Select the row, where several can be selected"],
    ["g q", "Queues"],
    ["g d", "My desk"],
    ["g b", "Workbench: dead letters, holds and approvals"],
    ["g u", "Runs"],
    ["g w", "Workers"],
    ["g l", "Leases"],
    ["c", "On a queue or the desk: claim the next item"],
    ["h", "On a subject: place a hold"],
    ["r", "On a subject: requeue"],
    ["Ctrl Enter", "In a form: send it"],
]
