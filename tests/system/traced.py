"""What the processes of the trace test run: a server, a worker, somebody who submits; each keeps its spans in a file."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import uvicorn
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from tenure import Fail, Job, Tenure, Worker
from tenure.api.application import create_application, stop_waiting
from tenure.api.settings import ServerSettings

MARK = "Rosalind-Franklin-1920"
QUEUE = "traced"
app = Tenure()


@app.task(queue=QUEUE, key="echo")
async def echo(name: str) -> str:
    return f"{MARK} {name}"


@app.task(queue=QUEUE, key="break")
def break_(name: str) -> None:
    raise ValueError(f"{MARK} {name}")


@app.task(queue=QUEUE, key="give_up")
async def give_up(name: str, job: Job) -> None:
    raise Fail(f"{MARK} {name}", code="gave_up")


class _File(SpanExporter):
    def __init__(self, path: Path) -> None:
        self._path = path

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        with self._path.open("a") as file:
            for span in spans:
                file.write(json.dumps(json.loads(span.to_json(indent=None))) + "\n")
        return SpanExportResult.SUCCESS


def set_up() -> None:
    """Keep spans and everything that is logged, whoever logs it."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(_File(Path(os.environ["SPANS"]))))
    trace.set_tracer_provider(provider)
    logging.basicConfig(stream=sys.stdout, level=logging.DEBUG, force=True)


def serve() -> None:
    set_up()
    application = create_application(ServerSettings(dsn=os.environ["TENURE_DSN"], ui=False))
    config = uvicorn.Config(application, port=int(os.environ["PORT"]), log_config=None, timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    handle = server.handle_exit
    server.handle_exit = lambda *args: (stop_waiting(application), handle(*args))[1]  # type: ignore[method-assign]
    server.run()


def work() -> None:
    set_up()
    Worker(app, queues=[QUEUE], grace=5).run()


def submit() -> None:
    set_up()
    with trace.get_tracer("shop").start_as_current_span("order"):
        for task in (echo, break_, give_up):
            result = task.with_options(correlation_id=f"order-{task.key}", name=MARK).submit(name=MARK)
            print(f"SUBMITTED {task.key} {result.subject}", flush=True)
        app.hold(result, reason=MARK) if os.environ.get("HOLD") else None


if __name__ == "__main__":
    {"serve": serve, "work": work, "submit": submit}[sys.argv[1]]()
