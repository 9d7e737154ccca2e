"""A laboratory on a real database, a real server, and Debian's Chromium before it. All tests of the folder share them."""

from __future__ import annotations

import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from tenure.api.application import create_application
from tenure.api.gateway import Gateway
from tenure.api.settings import ServerSettings
from tenure.sdk.client import Tenure
from tenure.ui.surface import install
from tests.databases import fresh_database
from tests.ledger.receiver import Receiver
from tests.ui.browsing import Screen
from tests.ui.clusters import clusters
from tests.ui.flows import flows
from tests.ui.laboratory import Laboratory, people, sampled, set_up
from tests.ui.mail import mailbox

_CHROMIUM = "/usr/bin/chromium"
_SWITCHES = [
    "--no-sandbox", "--disable-gpu", "--process-per-site", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="package")
def lab_database(admin: psycopg.Connection, pg_server: str, migrated_template: str) -> Iterator[str]:
    """The DSN of the database that the tests of this folder share."""
    yield from fresh_database(admin, pg_server, migrated_template)


@pytest.fixture(scope="package")
def client(lab_database: str) -> Iterator[Tenure]:
    """A trusted client of the laboratory."""
    with Tenure(lab_database, actor="service:setup") as made:
        yield made


@pytest.fixture(scope="package")
def lab(client: Tenure, lab_database: str) -> Laboratory:
    """What is in the laboratory."""
    people(client)
    made = set_up(client)
    flows(client, made)
    clusters(client, made)
    sampled(lab_database)
    return made


@pytest.fixture(scope="package")
def facts(lab_database: str) -> Callable[[int], list[tuple[str, str, dict[str, Any] | None]]]:
    """Type, actor and data of the facts of a thread, as they stand in the database."""

    def of(thread: int) -> list[tuple[str, str, dict[str, Any] | None]]:
        with psycopg.connect(lab_database, autocommit=True) as connection:
            found = connection.execute(
                "select type, actor, data from tenure.fact where thread = %s order by seq", [thread]
            )
            return list(found.fetchall())

    return of


@pytest.fixture(scope="package")
def application(lab_database: str, lab: Laboratory) -> Any:
    """The server's application."""
    made = create_application(ServerSettings(dsn=lab_database, max_connections=5, relay=True))
    install(made)
    return made


@pytest.fixture(scope="package")
def gateway(application: Any) -> Gateway:
    """Through which the screens read and act."""
    made: Gateway = application.state.gateway
    return made


@pytest.fixture(scope="package")
def address(application: Any) -> Iterator[str]:
    """Where the server listens."""
    server = uvicorn.Server(
        uvicorn.Config(
            application,
            port=0,
            log_level="warning",
            access_log=False,
            ws_ping_interval=None,
            timeout_graceful_shutdown=1,
        )
    )
    thread = threading.Thread(target=server.run, name="tests/ui server", daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        assert time.monotonic() < deadline, "the server did not start"
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(20)


@pytest.fixture(scope="package")
def mail(client: Tenure, lab: Laboratory, address: str) -> Iterator[Receiver]:
    """Subscriptions that the server sends, each in its way; the receiver that takes everything."""
    with mailbox(client, lab) as good:
        yield good


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One Chromium. It ends with this folder's tests, since Playwright's loop would be in the way of async tests."""
    chromium = _CHROMIUM if Path(_CHROMIUM).exists() else shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=_SWITCHES)
        yield started
        started.close()


@pytest.fixture(scope="package")
def secrets(client: Tenure, lab: Laboratory) -> Callable[[str], str]:
    """A secret that proves a person, as a session's cookie does."""
    made: dict[str, str] = {}

    def of(name: str) -> str:
        if name not in made:
            made[name] = client.create_token(name).secret.reveal()
        return made[name]

    return of


@pytest.fixture
def get(address: str, secrets: Callable[[str], str]) -> Iterator[Callable[..., httpx.Response]]:
    """Asks for a page, as an admin or as whom one says, without a browser: nothing goes on in it afterwards."""
    with httpx.Client(base_url=address) as client:

        def ask(path: str, person: str = "user:ada") -> httpx.Response:
            return client.get(path, headers={"Cookie": f"tenure_session={secrets(person)}"})

        yield ask


@pytest.fixture(scope="package")
def context_of(
    browser: Browser, address: str, secrets: Callable[[str], str]
) -> Iterator[Callable[..., BrowserContext]]:
    """The browser of a person, kept for all tests so that what it has cached stays; of nobody where there is no name."""
    kept: dict[Any, BrowserContext] = {}

    def of(name: str | None, **options: Any) -> BrowserContext:
        key = (name, repr(options))
        if key not in kept:
            options.setdefault("viewport", {"width": 1280, "height": 800})
            kept[key] = browser.new_context(base_url=address, reduced_motion="reduce", **options)
            kept[key].set_default_timeout(10_000)
            if name is not None:
                kept[key].add_cookies([{"name": "tenure_session", "value": secrets(name), "url": address}])
        return kept[key]

    yield of
    for context in kept.values():
        context.close()


@pytest.fixture(scope="package")
def idle() -> dict[str, list[Screen]]:
    """Live pages that nobody uses at present, by whose they are."""
    return defaultdict(list)


@pytest.fixture
def visit(
    address: str, context_of: Callable[..., BrowserContext], idle: dict[str, list[Screen]]
) -> Iterator[Callable[..., Screen]]:
    """Opens a screen as a person: ``visit("user:ada", "/ui/")``. Errors of the page fail the test.

    Where there is an idle page of that person, it follows a link, which costs a fifth of loading a page; ``fresh=True`` loads one.
    """
    used: list[tuple[str, Screen]] = []

    def open_screen(name: str | None, path: str, *, fresh: bool = False, **options: Any) -> Screen:
        whose = repr((name, options))
        if idle[whose] and not fresh:
            used.append((whose, idle[whose].pop()))
            used[-1][1].follow(path)
        else:
            used.append((whose, Screen(context_of(name, **options).new_page())))
            _look_after(used[-1][1], address)
            used[-1][1].open(path)
        return used[-1][1]

    yield open_screen
    for whose, screen in used:
        if screen.is_at_rest:
            idle[whose].append(screen)
        else:
            screen.page.close()
    wrong = [each for _, screen in used for each in screen.wrong]
    assert not wrong, wrong


def _look_after(screen: Screen, address: str) -> None:
    """Have the errors of a page written down, and whatever it asks for elsewhere than at the server."""
    page, wrong = screen.page, screen.wrong
    page.on("pageerror", lambda error: wrong.append(f"{page.url}: {error}"))
    page.on("request", lambda request: _stay_here(request.url, address, wrong))


def _stay_here(url: str, address: str, wrong: list[str]) -> None:
    here = url.startswith((address, address.replace("http", "ws"), "data:", "blob:"))
    if not here:
        wrong.append(f"a request left the server: {url}")
