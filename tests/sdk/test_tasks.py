"""``@app.task``: what a function's signature makes of a call, and of what it returns."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from tenure import Job, Tenure
from tenure.model.errors import AlreadyExists, InvalidPayload, InvalidRequest
from tenure.testing import drain


class Colour(StrEnum):
    RED = "red"


class Size(BaseModel):
    width: int
    height: int = 1


@dataclass
class Box:
    size: Size
    colour: Colour


class Opaque:
    """Nothing that JSON could hold."""


@pytest.fixture
def tasks() -> Tenure:
    """A client that is never connected."""
    return Tenure("postgresql://nowhere.invalid/x")


def test_arguments_are_bound_like_a_call_and_defaults_are_kept(tasks):
    @tasks.task()
    def resize(path: str, size: int = 256, *, colour: Colour = Colour.RED) -> None: ...

    assert resize.properties("a.png") == {"path": "a.png", "size": 256, "colour": "red"}
    assert resize.properties("a.png", 5) == resize.properties(size=5, path="a.png", colour=Colour.RED)


def test_arguments_come_back_as_the_signature_has_them(tasks):
    @tasks.task()
    def pack(box: Box, day: date, wait: timedelta, more: list[Size] | None = None) -> None: ...

    given = {"box": Box(Size(width=2), Colour.RED), "day": date(2026, 3, 1), "wait": timedelta(seconds=90)}

    properties = pack.properties(**given)

    assert properties["box"] == {"size": {"width": 2, "height": 1}, "colour": "red"}
    assert pack.arguments(properties) == given | {"more": None}


def test_an_argument_that_is_missing_has_the_default_of_the_signature(tasks):
    @tasks.task()
    def fill(
        size: Annotated[int, Field(alias="width", gt=0)],
        more: Annotated[list[int], Field(default=[1])] = [],  # noqa: B006
    ) -> None: ...

    assert fill.arguments({"size": "3"}) == {"size": 3, "more": []}
    fill.arguments({"size": 3})["more"].append(4)
    assert fill.arguments({"size": 3}) == {"size": 3, "more": []}
    with pytest.raises(InvalidPayload, match="size: Field required"):
        fill.arguments({})
    with pytest.raises(InvalidPayload, match="width: Extra inputs are not permitted"):
        fill.arguments({"size": 3, "width": 3})


def test_a_validator_of_an_argument_runs_once(tasks):
    @tasks.task()
    def step(n: Annotated[int, BeforeValidator(lambda n: n + 1), AfterValidator(lambda n: n * 10)]) -> None: ...

    assert step.arguments({"n": 1}) == {"n": 20}


@pytest.mark.parametrize("annotation", [(int, str), 3])
def test_what_is_no_type_is_refused(tasks, annotation):
    def odd(x): ...

    odd.__annotations__ = {"x": annotation}
    with pytest.raises(InvalidRequest):
        tasks.task()(odd)


def test_any_name_will_do_for_an_argument(tasks):
    @tasks.task()
    def odd(self: int, json: int, model_config: int, model_dump: int, copy: int, _hidden: int, args: int) -> None: ...

    given = dict(zip(("self", "json", "model_config", "model_dump", "copy", "_hidden", "args"), range(7), strict=True))

    assert odd.arguments(odd.properties(**given)) == given


@pytest.mark.parametrize(
    ("args", "kwargs", "told"),
    [
        ((), {}, "missing a required argument: 'path'"),
        (("a", 1, 2, 3), {}, "too many positional arguments"),
        (("a",), {"sizes": 1}, "unexpected keyword argument 'sizes'"),
        (("a",), {"path": "b"}, "multiple values for argument 'path'"),
        (("a", "large"), {}, "size: Input should be a valid integer"),
        (("a", 0), {}, "size: Input should be greater than 0"),
        (("a", 1, Opaque()), {}, "Unable to serialize"),
    ],
)
def test_a_call_that_does_not_fit_the_signature_says_where(tasks, args, kwargs, told):
    @tasks.task(key="resize")
    def resize(path: str, size: Annotated[int, Field(gt=0)] = 256, anything: Any = None) -> None: ...

    with pytest.raises(InvalidPayload, match="The arguments do not fit task 'resize'") as raised:
        resize.submit(*args, **kwargs)
    assert told in raised.value.message


def test_properties_with_unknown_or_missing_arguments_are_refused(tasks):
    @tasks.task()
    def resize(path: str) -> None: ...

    with pytest.raises(InvalidPayload, match="size: Extra inputs are not permitted"):
        resize.arguments({"path": "a", "size": 1})
    with pytest.raises(InvalidPayload, match="path: Field required"):
        resize.arguments({})


def test_a_job_parameter_is_not_an_argument(tasks):
    @tasks.task()
    def work(job: Job, path: str) -> None: ...

    assert work.job_parameter == "job"
    assert work.properties("a") == {"path": "a"}
    with pytest.raises(InvalidPayload):
        work.properties("a", job=1)


def test_calling_a_task_calls_the_function(tasks):
    @tasks.task()
    def double(number: int) -> int:
        """Twice."""
        return 2 * number

    assert double(21) == 42
    assert (double.__name__, double.__doc__) == ("double", "Twice.")


@pytest.mark.parametrize(
    ("returned", "kept"),
    [
        (None, None),
        (7, 7),
        ("text", "text"),
        (Box(Size(width=2), Colour.RED), {"size": {"width": 2, "height": 1}, "colour": "red"}),
        ({"at": datetime(2026, 3, 1, tzinfo=UTC)}, {"at": "2026-03-01T00:00:00Z"}),
        ([Size(width=1)], [{"width": 1, "height": 1}]),
    ],
)
def test_what_is_returned_is_kept_as_json(app, returned, kept):
    @app.task(queue="q")
    def work() -> Any:
        return returned

    subject = work.submit()
    drain(app)

    assert app.history(subject).attempts[0].result == kept


def test_the_return_type_says_how_a_result_is_written(tasks):
    @tasks.task()
    def measure() -> dict[str, timedelta]: ...

    @tasks.task()
    def unknown_to_pydantic() -> Opaque: ...

    assert measure.result({"took": timedelta(minutes=1)}) == {"took": "PT1M"}
    with pytest.raises(InvalidPayload, match="returned a Opaque that cannot be written as JSON"):
        unknown_to_pydantic.result(Opaque())


def test_a_result_that_json_cannot_hold_is_a_failure_for_good(app):
    @app.task(queue="q")
    def work() -> float:
        return float("nan")

    subject = work.submit()
    drain(app)

    attempt = app.history(subject).attempts[0]
    assert (attempt.attempt.record_status, attempt.attempt.error_code) == ("FAILED_TERMINAL", "invalid_payload")


def test_with_options_changes_a_copy(app):
    @app.task(queue="q", priority=1, max_attempts=3)
    def work() -> None: ...

    urgent = work.with_options(priority=9, external_ref="order-7").with_options(idempotency_key="once")

    first, second = urgent.submit(), urgent.submit()
    plain = work.submit()

    assert (second.subject, second.replayed) == (first.subject, True)
    assert app.find_subject("order-7") == first.subject
    assert [app.inspect(s).situation.thread.envelope.priority for s in (first, plain)] == [9, 1]
    assert app.inspect(plain).situation.thread.envelope.max_attempts_override == 3
    with pytest.raises(InvalidRequest, match="prioritty"):
        work.with_options(prioritty=1).submit()


def test_a_request_is_what_submit_many_takes(app):
    @app.task(queue="q")
    def work(number: int) -> int:
        return number

    outcomes = app.submit_many([work.request(n) for n in range(5)])
    drain(app)

    assert [app.history(o).attempts[0].result for o in outcomes] == [0, 1, 2, 3, 4]


def test_two_tasks_of_one_key_are_refused(tasks):
    @tasks.task(key="one")
    def first() -> None: ...

    with pytest.raises(AlreadyExists, match="There is a task 'one' already"):

        @tasks.task(key="one")
        def second() -> None: ...


def _no_name(*numbers: int) -> None: ...
def _any_name(**numbers: int) -> None: ...
def _position(number: int, /) -> None: ...
def _taken(tx: int) -> None: ...
def _unknown(number: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def _opaque(number: Opaque) -> None: ...
def _with_job(job: Job) -> None: ...
async def _coroutine() -> None: ...


@pytest.mark.parametrize(
    ("function", "options", "told"),
    [
        (_no_name, {}, "has no name to be kept under"),
        (_any_name, {}, "has no name to be kept under"),
        (_position, {}, "has no name to be kept under"),
        (lambda: None, {}, "A lambda has no name"),
        (_taken, {}, "takes 'tx', which submit"),
        (_unknown, {}, "annotated with what is unknown"),
        (_opaque, {}, "cannot be kept as JSON"),
        (_with_job, {"executor": "process"}, "only names and arguments can go there"),
        (lambda: None, {"executor": "process", "key": "k"}, "only names and arguments can go there"),
        (_coroutine, {"executor": "thread"}, "cannot run on the executor 'thread'"),
        (_no_name, {"executor": "async"}, "cannot run on the executor 'async'"),
        (_no_name, {"executor": "fibre"}, "cannot run on the executor 'fibre'"),
        (_coroutine, {"key": "no blanks"}, "next_action_key"),
        (_coroutine, {"queue": ""}, "queue_key"),
    ],
)
def test_what_cannot_be_a_task_is_refused_where_it_is_defined(tasks, function, options, told):
    with pytest.raises(InvalidRequest, match=told):
        tasks.task(**options)(function)
    assert not tasks.tasks


def test_a_task_of_a_script_has_the_key_under_which_a_worker_imports_it(tmp_path):
    (tmp_path / "shop.py").write_text(
        "from tenure import Tenure\napp = Tenure('postgresql:///x')\n@app.task()\ndef work() -> None: ...\n"
        "if __name__ == '__main__': print(work.key)\n"
    )
    environment = {"PYTHONPATH": str(Path(__file__).parents[2])}

    def key(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    assert key("shop.py") == key("-m", "shop") == key("-c", "import shop; print(shop.work.key)") == "shop.work"
