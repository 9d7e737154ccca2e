"""What goes into a job and what comes out of it: bounded, from where it may come, hashed, and never lost."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import pytest

from tenure.agent.durable import folder_name
from tenure.agent.errors import InvalidSettings
from tenure.agent.execution import JobOutcome, Stage
from tenure.agent.looking import look
from tenure.agent.payload.inputs import InputRefused, InputUnavailable, Interrupted, fetch, permitted
from tenure.agent.payload.results import TooMuch, put_results
from tenure.agent.payload.stores import FolderStore, store_of
from tenure.agent.preparing import fetched_until
from tenure.agent.settings import AgentSettings, RunnerSettings
from tenure.remote.model.fields import PayloadRef
from tests.agent.border import Border, script
from tests.agent.conftest import RunAgent, settings_for
from tests.agent.making import NOW, execution, work
from tests.agent.test_agent import path_of


@pytest.fixture
def web() -> Iterator[tuple[str, dict[str, Any]]]:
    """A server of files: its URL, and what it answers by path."""
    answers: dict[str, Any] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = answers.get(self.path, 404)
            answer = answer.pop(0) if isinstance(answer, list) else answer
            if isinstance(answer, int):
                self.send_response(answer)
                self.end_headers()
            elif isinstance(answer, str):
                self.send_response(302)
                self.send_header("location", answer)
                self.end_headers()
            else:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(answer)

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", answers
    server.shutdown()
    server.server_close()


def test_an_input_comes_over_http_and_redirects_are_followed(web: Any, tmp_path: Path) -> None:
    url, answers = web
    answers |= {"/a": b"echo 1\n", "/b": "/a"}
    fetch(f"{url}/b", tmp_path / "input", RunnerSettings())
    assert (tmp_path / "input").read_bytes() == b"echo 1\n"
    assert list(tmp_path.iterdir()) == [tmp_path / "input"]


@pytest.mark.parametrize(
    ("status", "kind"), [(404, InputRefused), (403, InputRefused), (503, InputUnavailable), (500, InputUnavailable)]
)
def test_a_server_that_does_not_give_it_says_whether_to_come_again(
    web: Any, tmp_path: Path, status: int, kind: type[Exception]
) -> None:
    url, answers = web
    answers["/a"] = status
    with pytest.raises(kind, match=str(status)):
        fetch(f"{url}/a", tmp_path / "input", RunnerSettings())
    assert not (tmp_path / "input").exists()


def test_a_redirect_does_not_lead_out_of_what_is_permitted(web: Any, tmp_path: Path) -> None:
    url, answers = web
    answers |= {"/ok/a": "/secret", "/secret": b"no", "/ok/loop": "/ok/loop", "/ok/file": "file:///etc/passwd"}
    settings = RunnerSettings(inputs=(f"{url}/ok/",))
    for path in ("/ok/a", "/ok/loop", "/ok/file"):
        with pytest.raises(InputRefused):
            fetch(f"{url}{path}", tmp_path / "input", settings)
    assert not (tmp_path / "input").exists()


def test_an_input_above_the_limit_is_refused_and_leaves_nothing(web: Any, tmp_path: Path) -> None:
    url, answers = web
    answers["/big"] = bytes(3 * 2**20)
    with pytest.raises(InputRefused, match="larger than 2 MiB"):
        fetch(f"{url}/big", tmp_path / "input", RunnerSettings(max_input_mib=2))
    assert list(tmp_path.iterdir()) == []


def test_nobody_listens(tmp_path: Path) -> None:
    with pytest.raises(InputUnavailable, match="ConnectError"):
        fetch("http://127.0.0.1:1/a", tmp_path / "input", RunnerSettings())


def test_an_input_comes_by_fsspec(tmp_path: Path) -> None:
    import fsspec

    fsspec.filesystem("memory").pipe("/in/a.sh", b"echo 1\n")
    fetch("memory://in/a.sh", tmp_path / "input", RunnerSettings())
    assert (tmp_path / "input").read_bytes() == b"echo 1\n"
    with pytest.raises(InputUnavailable):
        fetch("memory://in/none.sh", tmp_path / "input", RunnerSettings())
    with pytest.raises(InputRefused, match="cannot be used"):
        fetch("nowhere://in/none.sh", tmp_path / "input", RunnerSettings())


@pytest.mark.parametrize(
    ("uri", "fine"),
    [
        ("file:///srv/inputs/a.sh", True), ("file:///srv/inputs/deep/a.sh", True), ("file:///srv/inputs-2/a.sh", False),
        ("file:///srv/inputs/../../etc/passwd", False), ("file:///srv/inputs/%2e%2e/secret", False),
        ("file:///srv", False), ("https://data.example.org/runs/1", True), ("https://data.example.org/runs/../x", False),
        ("https://DATA.example.org/runs/1", True), ("http://data.example.org/runs/1", False),
        ("https://data.example.org.evil.org/runs/1", False), ("https://data.example.org@evil.org/runs/1", False),
        ("https://data.example.org:444/runs/1", False), ("s3://lab/in/1", True), ("s3://lab2/in/1", False),
    ],
)  # fmt: skip
def test_inputs_come_from_where_the_site_lets_them(uri: str, fine: bool) -> None:
    prefixes = ("/srv/inputs", "https://data.example.org/runs/", "s3://lab/in")
    assert permitted(uri, prefixes) is fine
    assert permitted(uri, ())


def test_a_place_of_inputs_that_is_no_uri_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match=r"runner\.inputs"):
        settings_for(tmp_path, "http://127.0.0.1:1", runner={"inputs": ["http://[/x"]})


def test_a_link_out_of_the_permitted_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_text("no")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(InputRefused):
        fetch((tmp_path / "in" / "link").as_uri(), tmp_path / "input", RunnerSettings(inputs=(str(tmp_path / "in"),)))


def test_an_input_that_is_refused_fails_the_execution_and_one_that_comes_late_does_not(
    border: Border, running: RunAgent, web: Any, tmp_path: Path
) -> None:
    url, answers = web
    answers |= {"/runs/late": [503, 503, b"true\n"]}
    settings = settings_for(tmp_path, border.url, runner={"inputs": [f"{url}/runs"]})
    late, gone, outside = (border.submit(f"{url}{path}") for path in ("/runs/late", "/runs/gone", "/other"))
    with running(settings):
        border.wait_for_end(late, gone, outside)
    assert border.states(late) == ["accepted", "running", "completed"]
    for execution_id, code in ((gone, "input_unavailable"), (outside, "input_refused")):
        assert border.states(execution_id) == ["accepted", "failed"]
        assert border.last(execution_id).error.code == code  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("uri", "kind"),
    [
        ("file:///tmp/" + "a" * 300, InputRefused), ("file://{folder}/loop", InputRefused),
        ("file://{folder}", InputRefused), ("file:///proc/self/mem", InputUnavailable),
        ("file://{folder}/none", InputUnavailable), ("file://{folder}/in.sh/none", InputUnavailable),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_the_inputs_doing_and_not_the_disks(
    tmp_path: Path, uri: str, kind: type[Exception]
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "in.sh").write_text("true\n")
    with pytest.raises(kind):
        fetch(uri.format(folder=tmp_path), tmp_path / "input", RunnerSettings())


@pytest.mark.parametrize(
    ("uri", "bucket", "code"),
    [
        ("http://[/x", None, "input_refused"), ("file:///%00", None, "input_refused"),
        ("http://127.0.0.1:1/" + "a" * 1970, None, "input_refused"), ("file:///in.sh", "b" * 1990, "bucket_unknown"),
    ],
)  # fmt: skip
def test_whatever_an_order_says_that_cannot_be_the_execution_fails_and_says_why(
    border: Border, running: RunAgent, tmp_path: Path, uri: str, bucket: str | None, code: str
) -> None:
    settings = settings_for(tmp_path, border.url, runner={"inputs": ["file:///", "https://[::1]/"]})
    execution_id = border.submit(uri)
    payload = PayloadRef(input_uri=uri, artifact_bucket=bucket)
    border.work[execution_id] = border.work[execution_id].model_copy(update={"payload_ref": payload})
    with running(settings):
        border.wait_for_end(execution_id, seconds=10)
    assert border.states(execution_id) == ["accepted", "failed"]
    assert border.last(execution_id).error.code == code  # type: ignore[union-attr]


def test_a_defect_for_one_execution_is_told_with_its_reason(
    border: Border, running: RunAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("tenure.agent.preparing.too_much", broken)
    execution_id = border.submit(script(tmp_path, "true"))
    with running():
        border.wait(lambda: "could not be taken on" in caplog.text, "it is told")
    said = next(record.getMessage() for record in caplog.records if "could not be taken on" in record.getMessage())
    assert execution_id in said
    assert "ZeroDivisionError: a defect" in said


def test_an_input_that_the_disk_does_not_take_leaves_nothing_on_it(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / ".input.new").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        fetch(script(tmp_path, "true"), folder / "input", RunnerSettings())
    assert list(folder.iterdir()) == []


def test_an_input_that_cannot_be_read_keeps_no_other_work_waiting(
    border: Border, running: RunAgent, tmp_path: Path
) -> None:
    settings = settings_for(tmp_path, border.url, runner={"fetch_seconds": 0.5})
    unreadable, too_long = border.submit("file:///proc/self/mem"), border.submit("file:///tmp/" + "a" * 300)
    with running(settings):
        border.wait_for_end(unreadable, too_long)
        fine = border.submit(script(tmp_path, "true"))
        border.wait_for_end(fine)
    assert border.states(fine) == ["accepted", "running", "completed"]
    errors = [border.last(each).error for each in (unreadable, too_long)]
    assert [(error.code, error.retryable) for error in errors if error] == [
        ("input_unavailable", True), ("input_refused", False),
    ]  # fmt: skip
    assert all(poll.accepting > 0 and poll.scheduler_problem is None for poll in border.polls)


def test_a_disk_that_takes_files_again_is_found_though_nothing_is_left_to_prepare(
    border: Border, running: RunAgent, settings: AgentSettings, tmp_path: Path
) -> None:
    settings.folder.mkdir()
    settings.work_folder.write_text("where a folder should be")
    waits = border.submit(script(tmp_path, "true"))
    with running():
        border.wait(lambda: bool(border.polls and border.polls[-1].scheduler_problem), "the server hears of it")
        assert "nothing can be written" in (border.polls[-1].scheduler_problem or "")
        assert border.polls[-1].accepting == 0
        border.wait(lambda: look(settings.folder).in_the_way == "see problems", "so does whoever looks at the agent")
        border.cancel(waits)
        border.wait_for_end(waits)
        settings.work_folder.unlink()
        fine = border.submit(script(tmp_path, "true"))
        border.wait_for_end(fine)
        border.wait(lambda: look(settings.folder).in_the_way is None, "nothing is in the way any more")
    assert border.states(fine) == ["accepted", "running", "completed"]
    assert look(settings.folder).in_the_way == "it does not run"


def test_an_input_that_never_comes_fails_after_a_while_and_may_be_tried_again(
    border: Border, running: RunAgent, tmp_path: Path
) -> None:
    settings = settings_for(tmp_path, border.url, runner={"fetch_seconds": 0.5})
    execution_id = border.submit((tmp_path / "none.sh").as_uri())
    with running(settings):
        border.wait_for_end(execution_id)
    error = border.last(execution_id).error
    assert error is not None
    assert (error.code, error.retryable) == ("input_unavailable", True)


@contextmanager
def drop_by_drop(head: bytes) -> Iterator[tuple[str, list[int]]]:
    """A server that begins to answer, and then sends a byte now and then: its URL, and how many it has begun to answer."""
    over, begun = threading.Event(), []

    class Slow(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65536)
            begun.append(1)
            with suppress(OSError):
                self.request.sendall(head)
                while not over.wait(0.1):
                    self.request.sendall(b"x")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Slow) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/", begun
        finally:
            over.set()
            server.shutdown()


_WITHIN = pytest.mark.parametrize(
    "head", [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nx-slow: ", b""], ids=["body", "headers", "status"]
)


@_WITHIN
def test_a_fetch_is_broken_off_wherever_it_waits(tmp_path: Path, head: bytes) -> None:
    """And at once, whatever comes meanwhile: bytes come all the time."""
    with drop_by_drop(head) as (url, begun):

        def heed() -> None:
            if begun:
                raise Interrupted

        with pytest.raises(Interrupted):
            fetch(url, tmp_path / "input", RunnerSettings(), heed)
    assert list(tmp_path.iterdir()) == []


def test_inputs_that_come_slowly_keep_others_waiting_for_no_longer_than_fetch_seconds(
    border: Border, running: RunAgent, tmp_path: Path
) -> None:
    settings = settings_for(tmp_path, border.url, runner={"fetch_seconds": 1.0})
    with drop_by_drop(b"HTTP/1.1 200 OK\r\n\r\n") as (url, _):
        slow = [border.submit(url) for _ in range(4)]
        with running(settings):
            border.wait(lambda: border.held >= set(slow), "the node has them")
            fine = border.submit(script(tmp_path, "true"))
            border.wait_for_end(fine, *slow, seconds=20)
    assert border.states(fine) == ["accepted", "running", "completed"]
    for each in slow:
        error = border.last(each).error
        assert error is not None
        assert (error.code, error.retryable) == ("input_unavailable", True)
        assert "1 s" in error.message


def test_what_is_canceled_is_fetched_no_longer(border: Border, running: RunAgent, tmp_path: Path) -> None:
    with drop_by_drop(b"HTTP/1.1 200 OK\r\n\r\n") as (url, begun):
        slow = [border.submit(url) for _ in range(4)]
        with running():
            border.wait(lambda: len(begun) == 4, "all are fetched")
            fine = border.submit(script(tmp_path, "true"))
            for each in slow:
                border.cancel(each)
            border.wait_for_end(fine, *slow, seconds=20)
    assert [border.last(each).error.code for each in slow] == ["canceled"] * 4  # type: ignore[union-attr]


def test_a_first_try_has_all_of_its_time_however_long_it_waited_for_its_turn(tmp_path: Path) -> None:
    """And a later one what is left of it."""
    settings = settings_for(tmp_path, "http://127.0.0.1:1", runner={"fetch_seconds": 100.0})
    one = execution(received_at=NOW - 1000)

    assert fetched_until(one, settings.runner, NOW) == NOW + 100
    assert fetched_until(replace(one, attempts=1, received_at=NOW - 60), settings.runner, NOW) == NOW + 40
    assert fetched_until(replace(one, attempts=1), settings.runner, NOW) == NOW + 10


def test_the_sites_own_command_runs_with_its_environment(border: Border, running: RunAgent, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, border.url, runner={
        "command": 'wc -c < "$TENURE_INPUT"; echo "$SITE $TENURE_SUBMISSION_ID $TENURE_MEMORY_MIB"; pwd',
        "environment": {"SITE": "it's \"ours\" $HOME"},
    })  # fmt: skip
    execution_id = border.submit(script(tmp_path, "12345678"))
    with running(settings):
        border.wait_for_end(execution_id)
    result = border.last(execution_id).result_ref
    assert result is not None
    said = (path_of(result.output_uri) / "stdout").read_text().splitlines()
    assert said == ["9", 'it\'s "ours" $HOME SUB1 256', str(settings.work_folder / execution_id)]


def job_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "job"
    (folder / "results" / "deep").mkdir(parents=True)
    (folder / "stdout").write_text("out\n")
    (folder / "stderr").write_text("")
    (folder / "results" / "a.txt").write_text("a")
    (folder / "results" / "deep" / "ü b#?.txt").write_text("b")
    return folder


def collected(tmp_path: Path, folder: Path, **more: Any) -> tuple[Any, dict[str, Any]]:
    one = execution(Stage.COLLECTING, outcome=JobOutcome(exit_code=0))
    result = put_results(one, folder, store_of(str(tmp_path / "store")), **more)
    assert result.metadata_uri is not None
    return result, json.loads(path_of(result.metadata_uri).read_text())


def test_results_are_stored_with_their_hashes_and_links_are_not_followed(tmp_path: Path) -> None:
    folder = job_folder(tmp_path)
    (folder / "results" / "link").symlink_to("/etc/passwd")
    (folder / "results" / "linked").symlink_to("/etc")
    os.mkfifo(folder / "results" / "pipe")
    Path(os.fsdecode(os.fsencode(folder / "results") + b"/odd\xff\n")).write_text("odd")
    result, metadata = collected(tmp_path, folder)
    assert {each["name"] for each in metadata["files"]} == {
        "stdout", "stderr", "results/a.txt", "results/deep/ü b#?.txt", "results/odd\\xff\n",
    }  # fmt: skip
    assert {each["name"] for each in metadata["skipped"]} == {"results/link", "results/linked", "results/pipe"}
    for each in metadata["files"]:
        content = (path_of(result.output_uri) / each["stored"]).read_bytes()
        assert (each["size"], each["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
    stored = {path for path in (tmp_path / "store").rglob("*") if path.is_file()}
    assert len(stored) == len(metadata["files"]) + 1, "nothing half written is left"


def left(folder: Path, name: bytes, content: str) -> None:
    Path(os.fsdecode(os.fsencode(folder / "results") + b"/" + name)).write_text(content)


def test_whatever_their_names_no_file_takes_anothers_place_in_the_store(tmp_path: Path) -> None:
    folder = job_folder(tmp_path)
    odd = b"\xff" * 100
    plain = os.fsdecode(b"a" * 190) + "\n"
    names = [
        b"\xff", b"%FF", b"%25FF", b"%", b"\n", b"%0A", odd, odd[:-1] + b"\xfe", plain.encode(), plain.encode() + b"\n",
        b"a" * 255, b".new-%d" % os.getpid(), b".%%new-%d" % os.getpid(), b"zz",
    ]  # fmt: skip
    for name in names:
        left(folder, name, name.hex())
    _, shortened = collected(tmp_path / "before", folder)
    for number, stored in enumerate([each["stored"] for each in shortened["files"]]):
        if "/" in stored and len(stored) > 200:  # what one of them has become is a name that a job may choose, too
            left(folder, stored.rpartition("/")[2].encode(), f"a name of ours {number}")
    result, metadata = collected(tmp_path, folder)
    assert metadata["skipped"] == []
    assert len({each["stored"] for each in metadata["files"]}) == len(metadata["files"])
    for each in metadata["files"]:
        content = (path_of(result.output_uri) / each["stored"]).read_bytes()
        assert (each["size"], each["sha256"]) == (len(content), hashlib.sha256(content).hexdigest()), each
    assert len([path for path in (tmp_path / "store").rglob("*") if path.is_file()]) == len(metadata["files"]) + 1


def test_a_folder_that_cannot_be_read_is_told_under_skipped(tmp_path: Path) -> None:
    folder, name = job_folder(tmp_path), "d" * 250
    at = os.open(folder / "results", os.O_RDONLY)
    for _ in range(20):  # so deep that no path reaches it
        os.mkdir(name, dir_fd=at)
        deeper = os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = deeper
    os.close(at)
    _, metadata = collected(tmp_path, folder)
    (skipped,) = metadata["skipped"]
    assert skipped["name"].startswith(f"results/{name}/{name}")
    assert skipped["why"] == "File name too long"
    assert len(metadata["files"]) == 4


class Picky(FolderStore):
    """One that does not take one of the files, for one reason."""

    def __init__(self, folder: Path, number: int) -> None:
        super().__init__(folder)
        self.number = number

    @contextmanager
    def writing(self, path: PurePosixPath) -> Iterator[BinaryIO]:
        if path.name == "a.txt":
            raise OSError(self.number, os.strerror(self.number), str(path))
        with super().writing(path) as file:
            yield file


def test_a_file_that_the_store_will_never_take_is_told_under_skipped_and_keeps_no_other_back(tmp_path: Path) -> None:
    folder, one = job_folder(tmp_path), execution(Stage.COLLECTING, outcome=JobOutcome(exit_code=0))
    result = put_results(one, folder, Picky(tmp_path / "store", errno.ENAMETOOLONG))
    metadata = json.loads((path_of(result.output_uri) / "metadata.json").read_text())
    assert metadata["skipped"] == [{"name": "results/a.txt", "why": "File name too long"}]
    assert [each["name"] for each in metadata["files"]] == ["stdout", "stderr", "results/deep/ü b#?.txt"]
    with pytest.raises(OSError, match="No space"):  # that may pass
        put_results(one, folder, Picky(tmp_path / "full", errno.ENOSPC))


def test_a_file_that_cannot_be_read_is_tried_again_and_then_told_under_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, fdopen = job_folder(tmp_path), os.fdopen

    def failing(descriptor: int, mode: str) -> Any:
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith("a.txt"):
            with open("/proc/self/mem", "rb") as unreadable:  # EIO
                os.dup2(unreadable.fileno(), descriptor)
        return fdopen(descriptor, mode)

    monkeypatch.setattr(os, "fdopen", failing)
    one = execution(Stage.COLLECTING, outcome=JobOutcome(exit_code=0))
    for attempts in (0, 1):
        with pytest.raises(OSError, match="Input/output error"):
            put_results(replace(one, attempts=attempts), folder, store_of(str(tmp_path / "store")))
    result = put_results(replace(one, attempts=2), folder, store_of(str(tmp_path / "store")))
    metadata = json.loads((path_of(result.output_uri) / "metadata.json").read_text())
    assert metadata["skipped"] == [{"name": "results/a.txt", "why": "Input/output error"}]
    assert not (path_of(result.output_uri) / "results" / "a.txt").exists()


def test_a_job_that_leaves_a_name_of_bytes_alone_completes(border: Border, running: RunAgent, tmp_path: Path) -> None:
    execution_id = border.submit(
        script(tmp_path, r"""echo kept > "$TENURE_RESULTS/$(printf '\377%.0s' $(seq 100))" """)
    )
    with running():
        border.wait_for_end(execution_id, seconds=20)
    result = border.last(execution_id).result_ref
    assert result is not None
    (kept,) = (path_of(result.output_uri) / "results").iterdir()
    assert kept.read_text() == "kept\n"


def test_results_are_stored_again_to_the_same_after_an_interruption(tmp_path: Path) -> None:
    folder = job_folder(tmp_path)
    assert collected(tmp_path, folder) == collected(tmp_path, folder)


def test_results_above_the_limit_are_too_much_and_metadata_is_not_there(tmp_path: Path) -> None:
    folder = job_folder(tmp_path)
    (folder / "results" / "big").write_bytes(bytes(2 * 2**20))
    with pytest.raises(TooMuch):
        collected(tmp_path, folder, max_mib=1)
    assert list((tmp_path / "store").rglob("metadata.json")) == []


def test_results_go_to_another_file_system_by_fsspec(tmp_path: Path) -> None:
    import fsspec

    one = execution(Stage.COLLECTING, outcome=JobOutcome(exit_code=0))
    result = put_results(one, job_folder(tmp_path), store_of("memory://bucket/base"))
    assert result.output_uri == "memory://bucket/base/lab/ws/job-1/e-1/"
    files = fsspec.filesystem("memory")
    metadata = json.loads(files.cat("/bucket/base/lab/ws/job-1/e-1/metadata.json"))
    assert len(metadata["files"]) == 4
    assert files.cat("/bucket/base/lab/ws/job-1/e-1/results/deep/ü b#?.txt") == b"b"


def test_ids_that_are_no_names_of_folders_stay_apart_and_below_the_store(tmp_path: Path) -> None:
    odd = ["..", ".", "a/b", "a%2Fb", "../../etc", "x" * 200, "x" * 199 + "y", "ü" * 200, "a b", "~", "-rf"]
    assert len({folder_name(each) for each in odd}) == len(odd)
    assert all("/" not in name and name not in (".", "..") and len(name) <= 200 for name in map(folder_name, odd))
    one = execution(Stage.COLLECTING, work=work(job_id="../../escape", tenant_id=".."), outcome=JobOutcome())
    result = put_results(one, job_folder(tmp_path), store_of(str(tmp_path / "store")))
    assert path_of(result.output_uri).resolve().is_relative_to((tmp_path / "store").resolve())
    assert result.output_uri.isascii()


def test_a_bucket_is_one_that_the_site_names(border: Border, running: RunAgent, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, border.url, results={"buckets": {"cold": str(tmp_path / "cold")}})
    given, unknown = (border.submit(script(tmp_path, "true")) for _ in range(2))
    for execution_id, bucket in ((given, "cold"), (unknown, "/etc")):
        one = border.work[execution_id]
        payload = one.payload_ref.model_copy(update={"artifact_bucket": bucket})
        border.work[execution_id] = one.model_copy(update={"payload_ref": payload})
    with running(settings):
        border.wait_for_end(given, unknown)
    assert (tmp_path / "cold" / "lab" / "ws-1" / "job-1" / given / "metadata.json").exists()
    assert border.last(unknown).error.code == "bucket_unknown"  # type: ignore[union-attr]


@pytest.mark.root
def test_a_full_payload_store_does_not_lose_a_result(border: Border, running: RunAgent, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    try:
        (small / "filler").write_bytes(bytes(900 * 1024))
        settings = settings_for(tmp_path, border.url, results={"store": str(small / "store")})
        execution_id = border.submit(script(tmp_path, "head -c 500000 /dev/zero > $TENURE_RESULTS/big"))
        with running(settings):
            border.wait(lambda: bool(look(settings.folder).troubled), "somebody is called for")
            (trouble,) = look(settings.folder).troubled
            assert "No space left" in (trouble["problem"] or "")
            assert border.states(execution_id) == ["accepted", "running"]
            (small / "filler").unlink()
            border.wait_for_end(execution_id)
        result = border.last(execution_id).result_ref
        assert result is not None
        assert (path_of(result.output_uri) / "results" / "big").stat().st_size == 500_000
    finally:
        subprocess.run(["umount", "--lazy", small], check=True)
