"""``tenure agent local`` and ``tenure serve``, each a process of its own: submissions come, run, and are told of."""

from __future__ import annotations

import itertools
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tenure import Tenure
from tenure.agent.looking import look
from tests.agent.border import script
from tests.agent.cutting import Cuttable
from tests.agent.test_folder import folder_id
from tests.conftest import fresh_database
from tests.waiting import until
from tests.worker.serving import ServerProcess

NODE = "node-1"
DONE = {"succeeded", "failed"}
_numbers = itertools.count(1)


class Product:
    """Somebody who submits, and looks."""

    def __init__(self, url: str, secret: str, tenant: str) -> None:
        self.client = httpx.Client(
            base_url=f"{url}/api/v1/remote", headers={"Authorization": f"Bearer {secret}"}, timeout=20
        )
        self.tenant = tenant
        self.submitted: list[str] = []

    def submit(self, input_uri: str, **changes: Any) -> str:
        number = len(self.submitted) + 1
        command = {
            "tenant_id": self.tenant, "workspace_id": "ws-1", "job_id": f"job-{number}", "idempotency_key": f"key-{number}",
            "management_node_id": NODE, "execution_profile": {"queue_name": "short"},
            "resource_shape": {"cpu": 1, "memory_mib": 256, "walltime_seconds": 120},
            "payload_ref": {"input_uri": input_uri}, "requested_by": {"user_id": "ada"},
        } | changes  # fmt: skip
        answer = self.client.post("/submissions", json=command)
        assert answer.status_code == 202, answer.text
        self.submitted.append(answer.json()["submission_id"])
        return self.submitted[-1]

    def shown(self, submission: str) -> Mapping[str, Any]:
        answer = self.client.get(f"/submissions/{submission}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def states(self, submission: str) -> list[str]:
        """What execution events said, in the order in which they were taken in."""
        history = self.client.get(f"/submissions/{submission}/history").json()["entries"]
        return [entry["data"]["state"] for entry in history if entry["type"] == "execution_event.received"]

    def until(self, condition: Callable[[], bool], what: str, seconds: float = 180) -> None:
        until(condition, seconds, lambda: f"{what}: {[(each, self.states(each)) for each in self.submitted]}")

    def until_done(self, *submissions: str) -> None:
        self.until(lambda: all(self.shown(each)["projection_state"] in DONE for each in submissions), "all are done")


class AgentProcess:
    """``tenure agent local`` as an admin of a node starts it."""

    def __init__(self, folder: Path, url: str, secret: str) -> None:
        self.folder = folder
        (folder / "token").write_text(f"{secret}\n")
        self.config = folder / "agent.toml"
        self.config.write_text(
            f'node = "{NODE}"\nkind = "local"\nurl = "{url}"\ntoken_file = "{folder}/token"\n'
            f'state_folder = "{folder}/state"\npoll_seconds = 5\n[watch]\nfastest_seconds = 0.1\n'
            "[delivery]\nfirst_delay_seconds = 0.1\nslowest_seconds = 1\nanswer_seconds = 5\n[local]\ncpu = 8\n"
        )
        self.log = folder / "agent.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
        command = [sys.executable, "-m", "tenure.cli", "agent", "local", "--config", str(self.config)]
        with self.log.open("ab") as log:
            environment = kept | {"PYTHONPATH": str(Path(__file__).parents[2])}
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=self.folder)

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def end(self, number: int = signal.SIGKILL) -> int:
        if self.process is None:
            return 0
        if self.running():
            self.process.send_signal(number)
        code = self.process.wait(60)
        self.process = None
        return code

    def poll(self, **said: Any) -> httpx.Response:
        """What the server answers an agent of this node."""
        headers = {"Authorization": f"Bearer {(self.folder / 'token').read_text().strip()}"}
        body = {"agent_id": f"agent-{next(_numbers)}", **said}
        url = next(line.split('"')[1] for line in self.config.read_text().splitlines() if line.startswith("url"))
        return httpx.post(f"{url}/api/v1/remote/nodes/{NODE}/poll", json=body, headers=headers, timeout=20)


@pytest.fixture(scope="module")
def server(
    admin: psycopg.Connection, pg_server: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    for dsn in fresh_database(admin, pg_server, migrated_template):
        server = ServerProcess(dsn, tmp_path_factory.mktemp("server"))
        server.dsn = dsn  # type: ignore[attr-defined]
        server.start()
        server.wait()
        yield server
        server.end()


@pytest.fixture
def app(server: ServerProcess) -> Iterator[Tenure]:
    dsn: str = server.dsn  # type: ignore[attr-defined]
    with Tenure(dsn, tenant=f"lab{next(_numbers)}", create_tenant=True, actor="user:ada") as app:
        yield app


def secret_of(app: Tenure, principal: str) -> str:
    return str(app.create_token(principal).secret.reveal())


@pytest.fixture
def network(server: ServerProcess) -> Iterator[Cuttable]:
    network = Cuttable(server.port)
    yield network
    network.close()


@pytest.fixture
def product(app: Tenure, server: ServerProcess) -> Product:
    app.create_principal("service:product", roles=["admin"])
    product = Product(server.url, secret_of(app, "service:product"), app.settings.tenant)
    answer = product.client.put(f"/nodes/{NODE}", json={"queues": {"short": {}}, "lease_seconds": 60})
    assert answer.status_code == 200, answer.text
    return product


@pytest.fixture
def agent(app: Tenure, product: Product, network: Cuttable, tmp_path: Path) -> Iterator[AgentProcess]:
    principal = product.client.get(f"/nodes/{NODE}").json()["principal"]
    agent = AgentProcess(tmp_path, network.url, secret_of(app, principal))
    agent.start()
    product.until(lambda: not product.client.get(f"/nodes/{NODE}").json()["silent"], "the node is heard of")
    yield agent
    agent.end()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_submissions_run_once_and_in_order_through_a_cut_network_and_killed_processes(
    app: Tenure, server: ServerProcess, product: Product, network: Cuttable, agent: AgentProcess, tmp_path: Path,
    tell: Callable[[str], None],
) -> None:  # fmt: skip
    go, starts = tmp_path / "go", tmp_path / "starts"
    count = f'echo "$TENURE_SUBMISSION_ID" >> {starts}'
    fails = product.submit(script(tmp_path, f"{count}; exit 3"))
    waits = [product.submit(script(tmp_path, f"{count}; while [ ! -e {go} ]; do sleep 0.1; done")) for _ in range(3)]
    ends = product.submit(script(tmp_path, f"{count}; sleep 300"))
    product.until(lambda: all("running" in product.states(each) for each in [*waits, ends]), "they run")

    canceled = product.client.post(f"/submissions/{ends}/cancel", json={"reason": "No longer needed."})
    assert canceled.status_code == 200, canceled.text
    product.until(lambda: product.states(ends)[-1] == "failed", "the node has ended it")

    first = node_of(product)["agent_id"]
    assert agent.end() == -signal.SIGKILL
    agent.start()
    product.until(lambda: node_of(product)["agent_id"] != first, "it is back")
    network.cut()
    go.touch()
    product.until(lambda: waiting(agent) >= len(waits), "jobs end while nobody hears of it")
    server.end()
    server.start()
    server.wait()
    network.mend()
    product.until_done(fails, *waits, ends)

    assert sorted(starts.read_text().split()) == sorted([fails, *waits, ends])
    assert [product.states(each) for each in waits] == [["accepted", "running", "completed"]] * len(waits)
    assert product.states(fails)[0] == "accepted"
    assert product.states(fails)[-1] == "failed"
    assert {product.shown(each)["projection_state"] for each in waits} == {"succeeded"}
    assert agent.end(signal.SIGTERM) == 0
    report = app.verify()
    assert report.clean, report
    tell(f"{len(product.submitted)} submissions, {sum(len(product.states(each)) for each in product.submitted)} events")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_what_ends_while_the_node_may_not_report_is_told_once_it_may(
    app: Tenure, product: Product, agent: AgentProcess, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    submission = product.submit(script(tmp_path, f"while [ ! -e {go} ]; do sleep 0.1; done"))
    product.until(lambda: "running" in product.states(submission), "it runs")
    principal = node_of(product)["principal"]
    elsewhere = {"queues": {"short": {}}, "lease_seconds": 60, "principal": "agent:another"}

    app.change_principal(principal, roles=["observer"], reason="A mistake.")
    go.touch()
    product.until(lambda: "permission to execute" in (said_of_what_waits(agent) or ""), "its role is not enough")
    product.client.put(f"/nodes/{NODE}", json=elsewhere).raise_for_status()
    app.change_principal(principal, roles=["management_node"], reason="Mended, but for the node.")
    product.until(lambda: "bound to no management node" in (said_of_what_waits(agent) or ""), "it is of no node")
    assert "parked" not in look(agent.folder / "state").events
    product.client.put(f"/nodes/{NODE}", json=elsewhere | {"principal": principal}).raise_for_status()

    product.until_done(submission)
    assert product.states(submission) == ["accepted", "running", "completed"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_agents_in_two_folders_never_run_the_same(
    app: Tenure, server: ServerProcess, product: Product, tmp_path: Path
) -> None:
    product.client.put(f"/nodes/{NODE}", json={"queues": {"short": {}}, "lease_seconds": 10})
    principal = product.client.get(f"/nodes/{NODE}").json()["principal"]
    two = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        two.append(AgentProcess(tmp_path / name, server.url, secret_of(app, principal)))
    try:
        assert two[0].poll().status_code == 200, "the node is heard of, by an agent of before, which names no folder"
        starts, late = tmp_path / "starts", tmp_path / "late.sh"
        count = f'echo "$TENURE_SUBMISSION_ID" >> {starts}'
        at_once = [product.submit(script(tmp_path, count)) for _ in range(6)]

        for each in two:
            each.start()
        product.until(lambda: any(not each.running() for each in two), "one of the two stops")
        loser, winner = sorted(two, key=lambda each: each.running())
        assert loser.end() == 1
        assert "node_has_agent" in loser.log.read_text()
        assert "another state folder" in loser.log.read_text()
        product.until_done(*at_once)

        later = product.submit(late.as_uri())
        product.until(lambda: node_of(product)["holding"] == 1, "it has what it cannot begin yet")
        assert winner.process is not None
        winner.process.send_signal(signal.SIGSTOP)  # as a machine that sleeps
        folder = folder_id(loser.folder / "state")
        product.until(lambda: loser.poll(folder_id=folder).is_success, "its lease runs out")
        late.write_text(count)
        winner.process.send_signal(signal.SIGCONT)
        product.until(lambda: not winner.running(), "it sees that another agent has come in its place")
        assert winner.end() == 1
        assert "agent_superseded" in winner.log.read_text()
        assert product.states(later) == []
        loser.start()
        product.until_done(later)
        assert loser.end(signal.SIGTERM) == 0
    finally:
        for each in two:
            each.end()
    assert sorted(starts.read_text().split()) == sorted([*at_once, later])
    assert "Traceback" not in "".join(each.log.read_text() for each in two)
    report = app.verify()
    assert report.clean, report


def node_of(product: Product) -> Mapping[str, Any]:
    found: dict[str, Any] = product.client.get(f"/nodes/{NODE}").json()
    return found


def said_of_what_waits(agent: AgentProcess) -> str | None:
    """What the server answered last to the event that is sent again and again."""
    with closing(sqlite3.connect(agent.folder / "state" / "agent.sqlite")) as file:
        row = file.execute("select said from outbox where standing = 'waiting' order by number limit 1").fetchone()
    return None if row is None else row[0]


def waiting(agent: AgentProcess) -> int:
    return look(agent.folder / "state").events.get("waiting", 0)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_check_says_what_to_do_and_the_token_is_nowhere(
    app: Tenure, product: Product, agent: AgentProcess, tmp_path: Path
) -> None:
    line = [sys.executable, "-m", "tenure.cli", "agent"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2])}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*line, *words, "--config", str(agent.config)], env=environment, cwd=tmp_path, capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip

    first = node_of(product)["agent_id"]
    fine = run("check")
    assert fine.returncode == 0, fine.stdout + fine.stderr
    assert "server:" in fine.stdout
    assert node_of(product)["agent_id"] == first, "a check takes no node over"
    second = run("local")
    assert second.returncode == 1
    assert "state_folder_in_use" in second.stderr
    secret = (tmp_path / "token").read_text().strip()
    (tmp_path / "token").write_text("tnr_wrong")
    wrong = run("check")
    assert wrong.returncode == 1
    assert "wrong server" in wrong.stdout
    product.client.put("/nodes/node-2", json={"queues": {"short": {}}}).raise_for_status()
    (tmp_path / "token").write_text(secret_of(app, product.client.get("/nodes/node-2").json()["principal"]))
    another = run("check")
    assert another.returncode == 1
    assert "the token is node node-2's; this agent is node node-1's" in " ".join(another.stdout.split())
    told = "".join(each.stdout + each.stderr for each in (fine, second, wrong, another)) + agent.log.read_text()
    assert secret not in told
    assert "Traceback" not in told
