"""How tests use a screen: by what a person sees and types."""

from __future__ import annotations

from contextlib import suppress

from playwright.sync_api import Locator, Page, expect

from tenure.model import euid

#: A screen sets the title when it has come.
_FOLLOW = """path => {
  const link = Object.assign(document.createElement("a"), { href: path });
  document.body.append(link);
  document.title = "";
  link.click();
  link.remove();
}"""
_AT_REST = (
    "!!(window.socket?.connected && document.querySelector('#tn-main') && !document.querySelector('dialog[open]'))"
)


class Screen:
    """One page in the browser. ``wrong``: what went wrong on it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.wrong: list[str] = []

    def open(self, path: str) -> None:
        """Go to an address of the server and wait until it is live."""
        self.page.goto(path)
        expect(self.page.locator("h1")).to_be_visible()
        if "/sign-in" not in self.page.url:
            self.page.wait_for_function("window.socket?.connected")

    def follow(self, path: str) -> None:
        """Follow a link to another screen, which comes in place of this one, and wait until it is there."""
        self.page.evaluate(_FOLLOW, path)
        self.page.wait_for_function("document.title !== ''")
        expect(self.page.locator("h1")).to_be_visible()

    @property
    def is_at_rest(self) -> bool:
        """Whether another screen can come in place of this one."""
        return not self.page.is_closed() and bool(self.page.evaluate(_AT_REST))

    @property
    def title(self) -> Locator:
        """The heading of the screen."""
        return self.page.locator("h1")

    @property
    def dialog(self) -> Locator:
        """The open form."""
        return self.page.locator("dialog[open]")

    @property
    def notice(self) -> Locator:
        """The newest message."""
        return self.page.locator(".tn-notice").last

    def button(self, name: str, *, within: Locator | None = None) -> Locator:
        """A button by its name."""
        return (within or self.page.locator("#tn-main")).get_by_role("button", name=name, exact=True)

    def go(self, letter: str, title: str) -> None:
        """Press g and a letter and wait for the screen; again where the machine was too slow for the second to count."""
        for _ in range(3):
            self.page.keyboard.press("g")
            self.page.keyboard.press(letter)
            with suppress(AssertionError):
                expect(self.title).to_have_text(title)
                return
        expect(self.title).to_have_text(title)

    def row(self, text: str) -> Locator:
        """The row of a list in which a text stands."""
        return self.page.locator("tbody tr").filter(has_text=text)

    def fill(self, label: str, value: str) -> None:
        """Fill a field of the open form."""
        self.dialog.get_by_label(label).fill(value)

    def send(self, button: str, **fields: str) -> None:
        """Fill the open form and send it; it must close."""
        for name, value in fields.items():
            self.dialog.locator(f'[name="{name}"]').fill(value)
        self.button(button, within=self.dialog).click()
        expect(self.dialog).to_be_hidden()

    def select(self, name: str, value: str) -> None:
        """Choose in the open form."""
        self.dialog.locator(f'[name="{name}"]').select_option(value)


def subject_page(uid: int) -> str:
    """The address of a subject's screen."""
    return f"/ui/subjects/{euid.format_euid(euid.SUBJECT, uid)}"


def worker_page(uid: int) -> str:
    """The address of a worker's screen."""
    return f"/ui/workers/{euid.format_euid(euid.WORKER, uid)}"
