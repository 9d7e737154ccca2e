"""Every screen, light and dark and narrow: axe-core looks for barriers.

``TENURE_SCREENSHOTS=build/screenshots`` keeps a picture of each in that folder, for people to look at.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.ui.browsing import Screen, subject_page, worker_page
from tests.ui.clusters import submission_page
from tests.ui.flows import run_page

_AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
_PICTURES = os.environ.get("TENURE_SCREENSHOTS")
_WIDE, _NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


def _subject(name: str):
    return lambda lab: subject_page(lab.subjects[name])


#: Name of the picture, who looks, and where.
SCREENS = [
    ("sign-in", None, lambda lab: "/ui/sign-in"),
    ("dashboard", "user:ada", lambda lab: "/ui/"),
    ("queue", "user:ada", lambda lab: "/ui/queues/extraction"),
    ("queue-empty", "user:obi", lambda lab: "/ui/queues/sequencing%2Fempty"),
    ("subject-held", "user:ada", _subject("blood 04")),
    ("subject-failed", "user:ada", _subject("damaged 1")),
    ("subject-running", "user:ada", _subject("blood 01")),
    ("subject-family", "user:ada", _subject("run 2026-118")),
    ("desk", "user:wim", lambda lab: "/ui/desk"),
    ("dead-letters", "user:ada", lambda lab: "/ui/workbench"),
    ("holds", "user:ada", lambda lab: "/ui/workbench?view=holds"),
    ("workers", "user:ada", lambda lab: "/ui/workers"),
    ("worker", "user:ada", lambda lab: worker_page(lab.workers["robot/hamilton-1"].uid)),
    ("runs", "user:ada", lambda lab: "/ui/runs"),
    ("run-waiting", "user:ada", lambda lab: run_page(lab.runs["r-waiting"])),
    ("run-failed", "user:ada", lambda lab: run_page(lab.runs["r-failed"])),
    ("run-lanes", "user:ada", lambda lab: run_page(lab.runs["r-lanes"])),
    ("approvals", "user:omar", lambda lab: "/ui/workbench/approvals"),
    ("workflows", "user:ada", lambda lab: "/ui/workflows"),
    ("workflow", "user:ada", lambda lab: "/ui/workflows/report"),
    ("schedules", "user:omar", lambda lab: "/ui/schedules"),
    ("submissions", "user:ada", lambda lab: "/ui/submissions"),
    ("submission-running", "user:ada", lambda lab: submission_page(lab.submissions["call-8"])),
    ("node", "user:ada", lambda lab: "/ui/nodes/cluster-1"),
    ("subscriptions", "user:ada", lambda lab: "/ui/subscriptions"),
    ("subscription-picky", "user:ada", lambda lab: "/ui/subscriptions/picky"),
    ("leases", "user:ada", lambda lab: "/ui/leases"),
    ("found-nothing", "user:obi", lambda lab: "/ui/search?q=nothing+of+this+name"),
    ("no-such-subject", "user:obi", lambda lab: subject_page(7)),
]


@pytest.mark.parametrize(("name", "person", "path"), SCREENS, ids=[name for name, _, _ in SCREENS])
def test_a_screen_has_no_barrier_and_fits_every_width(visit, lab, client, mail, name, person, path):
    screen = visit(person, path(lab))
    if name == "desk":
        _at_work(screen)
    _look(screen, name)


def test_forms_have_no_barrier(visit, lab):
    screen = visit("user:ada", subject_page(lab.subjects["blood 03"]))
    screen.button("Requeue").click()
    expect(screen.dialog).to_be_visible()
    screen.button("Requeue", within=screen.dialog).click()
    expect(screen.dialog).to_contain_text("A reason is needed")
    _look(screen, "form")
    screen.page.keyboard.press("Escape")
    expect(screen.dialog).to_be_hidden()
    screen.page.keyboard.press("?")
    expect(screen.dialog).to_contain_text("Keyboard")
    _look(screen, "keyboard-help")


def _at_work(screen: Screen) -> None:
    if screen.page.locator(".tn-work").is_hidden():
        screen.row("qc/manual").get_by_role("button").click()
        expect(screen.page.locator(".tn-work")).to_be_visible()


def _look(screen: Screen, name: str) -> None:
    found = []
    for scheme in ("light", "dark"):
        screen.page.emulate_media(color_scheme=scheme)
        expect(screen.page.locator("html")).to_have_attribute("data-theme", scheme)
        _picture(screen, f"{name}-{scheme}")
        # The two differ in their colours alone.
        rule = "color-contrast" if scheme == "dark" else None
        found += [f"{scheme}: {barrier}" for barrier in _barriers(screen, rule)]
    screen.page.set_viewport_size(_NARROW)
    _picture(screen, f"{name}-narrow-dark")
    screen.page.emulate_media(color_scheme="light")
    _picture(screen, f"{name}-narrow")
    wider = screen.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    screen.page.set_viewport_size(_WIDE)
    assert not found, "\n".join(found)
    assert wider <= 0, f"{name} is {wider} px wider than a narrow window"


def _picture(screen: Screen, name: str) -> None:
    if _PICTURES:
        screen.page.screenshot(path=Path(_PICTURES) / f"{name}.png")


def _barriers(screen: Screen, rule: str | None = None) -> list[str]:
    if not _AXE.exists():
        pytest.skip("axe-core is not installed (npm ci in tests/ui)")
    if not screen.page.evaluate("'axe' in window"):
        screen.page.evaluate(_AXE.read_text(encoding="utf-8"))
    options = {"resultTypes": ["violations"]} | ({"runOnly": [rule]} if rule else {})
    violations = screen.page.evaluate("options => axe.run(document, options).then(found => found.violations)", options)
    return [
        f"{violation['id']} ({violation['impact']}): {node['html'][:160]}"
        for violation in violations if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"][:3]
    ]  # fmt: skip
