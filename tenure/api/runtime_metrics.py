"""Metrics of the server itself: requests, connections, the event loop, the process (design 06, HTTP API)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PREFIX = "/api/v1/execution"
_LAG_EVERY = 1.0
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class RuntimeMetrics:
    """The metrics of one server, in a registry of its own. ``gauges`` gives what is read when they are asked for."""

    def __init__(self, gauges: Callable[[], dict[str, tuple[str, float]]]) -> None:
        self.registry = CollectorRegistry()
        self._gauges = gauges
        self.requests = Counter(
            "tenure_http_requests", "Requests answered.", ["method", "route", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "tenure_http_request_duration_seconds", "Until the last byte was sent; streams and long polls included.",
            ["method", "route"], registry=self.registry, buckets=_BUCKETS,
        )  # fmt: skip
        self._lag = 0.0
        self._task: asyncio.Task[None] | None = None
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        self.registry.register(self)

    def open(self) -> None:
        """Begin to measure how late the event loop is."""
        self._task = asyncio.create_task(self._measure())

    async def close(self) -> None:
        """Stop measuring."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def collect(self) -> Iterable[Metric]:
        """What is read at the moment."""
        yield GaugeMetricFamily("tenure_event_loop_lag_seconds", "How late the event loop was of late.", self._lag)
        for name, (help_text, value) in self._gauges().items():
            yield GaugeMetricFamily(name, help_text, value)

    async def _measure(self) -> None:
        while True:
            asked = time.perf_counter()
            await asyncio.sleep(_LAG_EVERY)
            self._lag = max(0.0, time.perf_counter() - asked - _LAG_EVERY)


class MeasureRequests:
    """ASGI middleware: counts requests by method, route and status, and how long they took."""

    def __init__(self, app: ASGIApp, *, metrics: RuntimeMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = "500"

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        began = time.perf_counter()
        try:
            await self._app(scope, receive, noted)
        finally:
            # By the template of the route: what people put into addresses would make a series each.
            route = template_of(scope)
            method = scope["method"] if route != "other" else "other"
            self._metrics.requests.labels(method, route, status).inc()
            self._metrics.seconds.labels(method, route).observe(time.perf_counter() - began)


def template_of(scope: Scope) -> str:
    """The template of the route that answered, ``other`` where there was none."""
    known = getattr(scope.get("route"), "path_format", None)
    if known is None:
        return "other"
    # A route that was included under a prefix knows only what follows it.
    return f"{PREFIX}{known}" if scope["path"].startswith(PREFIX) and not known.startswith(PREFIX) else str(known)
