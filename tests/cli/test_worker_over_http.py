"""``tenure worker --url``: a process that has a URL and a token, and nothing of a database."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tenure import Tenure
from tenure.sdk.http.address import Address
from tests.waiting import until
from tests.worker.serving import address_for, secret_of, serving

APPLICATION = """
import os
from pathlib import Path
from tenure import Tenure

app = Tenure()

@app.task(queue="thumbs", key="thumb")
def thumb(number: int) -> str:
    if number == 0:
        thumb.submit(number=7)   # from a handler, over HTTP, too
    command = Path(f"/proc/{os.getpid()}/cmdline").read_bytes().replace(b"\\0", b" ").decode()
    return f"{number}: {command}"
"""


@pytest.fixture
def app(migrated_database):
    with Tenure(migrated_database, actor="user:ada") as app:
        app.define_queue("thumbs")
        yield app


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(APPLICATION)
    return tmp_path


def command(folder: Path, address: Address, *options: str, token: str | None = None, **environment: str) -> list:
    file = folder / "token"
    file.write_text(f"{token if token is not None else secret_of(address)}\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    settings = kept | {"PYTHONPATH": str(Path(__file__).parents[2])} | environment
    line = [sys.executable, "-m", "tenure.cli", "worker", "shop:app", "--url", address.url, "--token-file", str(file)]
    return [[*line, *options], settings]


def run(folder: Path, address: Address, *options: str, **more: str) -> subprocess.CompletedProcess[str]:
    line, environment = command(folder, address, *options, **more)
    return subprocess.run(line, env=environment, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_it_works_without_any_database_and_nobody_sees_its_token(app, folder):
    app.submit_many(
        [{"queue_key": "thumbs", "next_action_key": "thumb", "properties": {"number": n}} for n in range(3)]
    )
    with serving(app) as server:
        address = address_for(app, server)
        ran = run(folder, address, "--drain", "--json", "--verbose")

    assert ran.returncode == 0, ran.stderr
    rows = app.leases("COMPLETED")
    assert len(rows) == 4
    [made] = [row for row in rows if str(row.result).startswith("7: ")]
    [fact, *_] = app.facts(made.attempt.subject)
    assert (fact.type, fact.actor) == ("subject.submitted", "service:remote")
    told = ran.stdout + ran.stderr + "".join(str(row.result) for row in rows)
    assert "--token-file" in told
    assert secret_of(address) not in told
    assert not (folder / ".tenure").exists()  # no embedded server was started


def test_it_stops_with_a_clear_message_when_its_token_is_revoked(app, folder):
    app.define_queue("idle")
    with serving(app) as server:
        address = address_for(app, server)
        line, environment = command(folder, address)
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(line, env=environment, cwd=folder, stdout=log, stderr=log)
        try:
            until(app.workers, told=(folder / "log").read_text)
            [token] = app.tokens()
            app.revoke_token(token)
            app.submit(queue_key="thumbs", next_action_key="thumb", properties={"number": 1})  # ends the long poll
            app.submit(queue_key="thumbs", next_action_key="thumb", properties={"number": 2})
            assert process.wait(60) == 1
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait(10)

    told = (folder / "log").read_text()
    assert "Error (turned_away): The server turns this worker away: The credential proves nobody" in told
    assert "Traceback" not in told
    assert secret_of(address) not in told


def test_a_token_that_proves_nobody_is_told_at_once(app, folder):
    with serving(app) as server:
        ran = run(folder, address_for(app, server), token="wrong")  # noqa: S106

    assert (ran.returncode, "Error (turned_away): The server turns this worker away" in ran.stderr) == (1, True), (
        ran.stderr
    )


@pytest.mark.parametrize(
    ("options", "environment", "status", "code"),
    [
        ({"token": ""}, {}, 1, "unauthenticated"),
        ({"token": "two words"}, {}, 1, "unauthenticated"),
        ({"url": "http://127.0.0.1:1"}, {}, 3, "store_unavailable"),
        ({"url": "shop.example"}, {}, 1, "invalid_request"),
        ({"url": "http://user:pw@shop.example"}, {}, 1, "invalid_request"),
        ({}, {"TENURE_DSN": "postgresql://nobody@127.0.0.1:1/x"}, 1, "invalid_request"),
        ({}, {"OTEL_TRACES_EXPORTER": "nothing_like_it"}, 1, "invalid_request"),
    ],
)
def test_a_mistake_is_told_with_what_to_do(folder, options, environment, status, code):
    address = Address("http://127.0.0.1:1", "a-token-of-somebody")
    line, settings = command(folder, address, token=options.get("token"), **environment)
    if "url" in options:
        line[line.index("--url") + 1] = options["url"]
    ran = subprocess.run(line, env=settings, cwd=folder, capture_output=True, text=True, timeout=60, check=False)

    assert (ran.returncode, f"({code})" in ran.stderr) == (status, True), ran.stderr
    assert "Traceback" not in ran.stderr
    assert secret_of(address) not in ran.stderr


def test_other_commands_mean_the_database_though_a_url_is_set(tenure, monkeypatch):
    monkeypatch.setenv("TENURE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("TENURE_TOKEN", "a-token-of-somebody")

    assert tenure("queue", "define", "thumbs").code == 0
    assert [queue["queue_key"] for queue in tenure("queue", "list", "--json").lines] == ["thumbs"]
