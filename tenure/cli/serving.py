"""Runs the application under uvicorn until it is asked to stop."""

from __future__ import annotations

import logging
from types import FrameType

import uvicorn
from fastapi import FastAPI

from tenure.api.application import create_application, stop_waiting
from tenure.api.settings import ServerSettings

_log = logging.getLogger("tenure.serve")
_GRACE = 30
#: Seconds for which an idle connection is kept: longer than clients and proxies keep theirs, who would else write to a closed one.
_KEEP_ALIVE = 75


class _Server(uvicorn.Server):
    """Asked to stop, it first lets go of those who wait for work or follow events: they would keep it for minutes."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        application = self.config.app
        if isinstance(application, FastAPI):
            stop_waiting(application)
        super().handle_exit(sig, frame)


def serve(settings: ServerSettings, *, host: str, port: int, trusted_proxies: str | None = None) -> None:
    """Serve API and screens until SIGTERM or SIGINT; requests under way get half a minute to finish."""
    application = create_application(settings)
    if settings.ui:
        from tenure.ui.surface import install  # noqa: PLC0415 - half a second of imports that a server without it saves

        install(application)
    config = uvicorn.Config(
        application, host=host, port=port, log_config=None, access_log=False, server_header=False,
        timeout_graceful_shutdown=_GRACE, timeout_keep_alive=_KEEP_ALIVE,
        proxy_headers=trusted_proxies is not None, forwarded_allow_ips=trusted_proxies,
    )  # fmt: skip
    _log.info("Serving on http://%s:%d%s.", host, port, "/ui" if settings.ui else "")
    _Server(config).run()
