"""Credentials in a URI are shown to nobody: not in the log, not to the server, not in what is kept."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from tenure.agent.execution import JobOutcome, Stage
from tenure.agent.payload.inputs import InputRefused, InputUnavailable, fetch
from tenure.agent.payload.results import put_results
from tenure.agent.payload.stores import store_of
from tenure.agent.sentences import reason_of
from tenure.agent.settings import RunnerSettings
from tenure.agent.uris import bare, shown, without_secrets
from tenure.remote.model.fields import Failure, PayloadRef
from tests.agent.border import Border
from tests.agent.conftest import RunAgent, settings_for
from tests.agent.making import execution, work

SECRET = "user:S3CRETPW@"  # noqa: S105
QUERY = "?X-Amz-Signature=S1GNATURE&x=%2F2nd"


def leaks(text: str) -> list[str]:
    return [secret for secret in ("S3CRETPW", "user:", "S1GNATURE", "X-Amz", "2nd") if secret in text]


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("http://user:S3CRETPW@host:80/a?X-Amz-Signature=S1GNATURE#f", "http://host:80/a"),
        ("https://host/a", "https://host/a"), ("https://host/@a/b@c", "https://host/@a/b@c"),
        ("https://S3CRETPW@host?S1GNATURE", "https://host"), ("https://a@b:S3CRETPW@host/x", "https://host/x"),
        ("simplecache::http://user:S3CRETPW@host/x", "simplecache::http://host/x"), ("http://user:S3CRETPW@[/x", "http://[/x"),
        ("file:///srv/in.sh", "file:///srv/in.sh"), ("/srv/in.sh", "/srv/in.sh"), ("", ""),
    ],
)  # fmt: skip
def test_a_uri_is_shown_without_what_opens_it(uri: str, said: str) -> None:
    assert (bare(uri), shown(uri)) == (said, said)


def test_a_long_uri_is_cut_for_people_alone() -> None:
    assert shown("https://host/" + "a" * 1000) == "https://host/" + "a" * 487 + "..."
    assert len(bare("https://host/" + "a" * 1000)) == 1013


def test_a_librarys_words_are_told_without_the_secrets_of_a_uri_in_whatever_form() -> None:
    uri = f"http://{SECRET}host/a{QUERY}"
    for text in (
        f"no such file: {uri}.", f"url='{uri}'", f"/a{QUERY} gave 404", "Invalid port: 'S3CRETPW@host'",
        "login of user failed", "value /2nd of x", "user:S3CRETPW",
    ):  # fmt: skip
        assert leaks(without_secrets(text, uri)) == []
        assert "user" not in without_secrets(text, uri)
    assert leaks(without_secrets(f"of another: {uri}, which")) == []
    assert without_secrets("nothing hidden here", uri, "https://host/") == "nothing hidden here"


def test_what_a_contract_refuses_is_told_without_its_value() -> None:
    with pytest.raises(ValueError, match="too_long") as caught:
        Failure(code="x", message=f"http://{SECRET}host/{'a' * 2000}{QUERY}", retryable=False)
    assert leaks(reason_of(caught.value)) == []
    assert "message" in reason_of(caught.value)


def broken(*_: object) -> Any:
    raise RuntimeError(f"cannot get http://{SECRET}host/a{QUERY}: S3CRETPW is wrong, S1GNATURE is too old")


@pytest.mark.parametrize(
    ("uri", "inputs"),
    [
        (f"http://{SECRET}127.0.0.1:1/none{QUERY}", ()), (f"http://{SECRET}127.0.0.1:1/none{QUERY}", ("/srv",)),
        (f"http://{SECRET}[/none{QUERY}", ()), (f"http://{SECRET}127.0.0.1:port/none{QUERY}", ()),
        (f"file://{SECRET}host/none{QUERY}", ()), (f"file://{SECRET}/none{QUERY}", ()), (f"file:///none{QUERY}", ()),
        ("file:///" + "a" * 300 + QUERY, ()), (f"nowhere://{SECRET}host/none{QUERY}", ()),
        (f"memory://{SECRET}host/none{QUERY}", ()),
    ],
)  # fmt: skip
def test_an_input_that_cannot_be_had_is_told_of_without_what_opens_it(
    tmp_path: Path, uri: str, inputs: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.agent.payload.inputs.opened", broken)
    with pytest.raises((InputRefused, InputUnavailable)) as caught:
        fetch(uri, tmp_path / "input", RunnerSettings(inputs=inputs))
    assert leaks(str(caught.value)) == []


def test_neither_the_log_nor_the_server_nor_the_status_hears_what_opens_an_input(
    border: Border, running: RunAgent, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tenure")
    settings = settings_for(tmp_path, border.url, runner={"fetch_seconds": 0.5})
    late = border.submit(f"http://{SECRET}127.0.0.1:1/none{QUERY}")
    bucket = border.submit("file:///in.sh")
    payload = PayloadRef(input_uri="file:///in.sh", artifact_bucket=f"s3://{SECRET}bucket/{QUERY}")
    border.work[bucket] = border.work[bucket].model_copy(update={"payload_ref": payload})
    with running(settings):
        border.wait_for_end(late, bucket)
    assert "did not come" in caplog.text
    assert "no bucket s3://bucket/" in caplog.text
    assert leaks(caplog.text) == []
    assert leaks("".join(event.model_dump_json() for each in (late, bucket) for event in border.events[each])) == []


def test_a_defect_is_logged_without_what_opens_an_input(
    border: Border, running: RunAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("tenure.agent.preparing.too_much", broken)
    border.submit("file:///in.sh")
    with running():
        border.wait(lambda: "could not be taken on" in caplog.text, "it is told")
    assert "Traceback" in caplog.text
    assert "in broken" in caplog.text
    assert leaks(caplog.text.replace("S3CRETPW is wrong, S1GNATURE is too old", "")) == []


def test_what_is_kept_of_a_job_and_where_it_is_says_not_what_opens_it(tmp_path: Path) -> None:
    import fsspec

    payload = PayloadRef(input_uri=f"https://{SECRET}host/{'a' * 600}{QUERY}")
    one = execution(Stage.COLLECTING, work=work(payload_ref=payload), outcome=JobOutcome(exit_code=0))
    result = put_results(one, tmp_path, store_of(f"memory://{SECRET}lab/kept"))
    assert leaks(result.model_dump_json()) == []
    assert result.output_uri == "memory://lab/kept/lab/ws/job-1/e-1/"
    (kept,) = (
        name for name in fsspec.filesystem("memory").find("/") if name.endswith("kept/lab/ws/job-1/e-1/metadata.json")
    )
    metadata = json.loads(fsspec.filesystem("memory").cat(kept))
    assert metadata["input_uri"] == f"https://host/{'a' * 600}"


def test_a_store_that_takes_nothing_is_told_of_without_what_opens_it(
    border: Border, running: RunAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("tenure.agent.payload.stores.opened", broken)
    settings = settings_for(tmp_path, border.url, results={"store": f"memory://{SECRET}host/kept"})
    (tmp_path / "in.sh").write_text("exit 1\n")
    execution_id = border.submit((tmp_path / "in.sh").as_uri())
    with running(settings):
        border.wait_for_end(execution_id)
    assert "cannot be put into memory://host/kept" in caplog.text
    assert leaks(caplog.text.replace("S1GNATURE is too old", "")) == []
    assert leaks(border.last(execution_id).model_dump_json().replace("S1GNATURE is too old", "")) == []
