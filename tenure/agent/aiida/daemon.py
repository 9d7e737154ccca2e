"""AiiDA's daemon, which brings processes on, and the connection to its broker."""

from __future__ import annotations

import asyncio
import time

import psutil
from aiida.brokers.zeromq import ZeromqBroker
from aiida.brokers.zeromq.service import ZeromqBrokerService
from aiida.engine.daemon.client import DaemonException, get_daemon_client
from aiida.manage import get_manager
from aiida.manage.configuration import get_config

from tenure.agent.aiida.settings import AiidaSettings
from tenure.agent.scheduler import SchedulerUnavailable

_LOOK_SECONDS = 0.1
#: It imports AiiDA first, on a machine that may be busy.
_START_SECONDS = 60.0

_DOUBTED = object()


class Daemon:
    """The daemon of the profile that is loaded. For AiiDA's thread alone."""

    def __init__(self, settings: AiidaSettings) -> None:
        self._settings = settings
        self._broker: object = None
        """The process of the broker that we are connected to."""

    def ensure(self) -> None:
        """See that the daemon runs; start it where the settings say so. Raises SchedulerUnavailable."""
        if _runs():
            return
        if not self._settings.start_daemon:
            raise SchedulerUnavailable("AiiDA's daemon does not run: start it with `verdi daemon start`.")
        _forget_broker()
        try:
            get_daemon_client().start_daemon(number_workers=self._settings.workers)
        except DaemonException as error:
            raise SchedulerUnavailable(f"AiiDA's daemon cannot be started: {str(error).strip()[-500:]}") from error
        self._broker_process(_START_SECONDS)

    def connect(self) -> None:
        """See that what is sent now reaches the broker. Raises SchedulerUnavailable.

        The broker ``core.zeromq`` is part of the daemon: what is sent to one that has gone is lost without a word.
        """
        self.ensure()
        process = self._broker_process(self._settings.answer_seconds)
        if process != self._broker:
            get_manager().reset_runner()
            get_manager().reset_broker()
            asyncio.set_event_loop(asyncio.new_event_loop())
            self._broker = process

    def doubt(self) -> None:
        """Something failed: what is sent next goes over a new connection. RabbitMQ's is of no more use once it was broken."""
        self._broker = _DOUBTED

    def _broker_process(self, seconds: float) -> object:
        """The process that the broker is, once it answers; None where it is no part of the daemon."""
        broker = get_manager().get_broker()
        if not isinstance(broker, ZeromqBroker):
            return None
        deadline = time.monotonic() + seconds
        while not broker.check_service_reachable():
            if time.monotonic() > deadline:
                raise SchedulerUnavailable("AiiDA's daemon runs, but its broker does not.")
            time.sleep(_LOOK_SECONDS)
        return broker.probe_service_status().get("pid")


def _forget_broker() -> None:
    """Remove what a broker that was killed left behind. A worker that starts sooner than the new one would believe it, and
    wait for ever where nobody is.
    """
    broker, profile = get_manager().get_broker(), get_manager().get_profile()
    if isinstance(broker, ZeromqBroker) and profile is not None and not broker.check_service_reachable():
        left = ZeromqBrokerService.FilepathLayout(get_config().filepaths(profile)["broker_service"]["dir"])
        left.sockets_file.unlink(missing_ok=True)


def _runs() -> bool:
    """Whether its supervisor is alive. The file with its number stays behind when it is killed."""
    pid = get_daemon_client().get_daemon_pid()
    if pid is None:
        return False
    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE and any("circus" in part for part in process.cmdline())
    except psutil.Error:
        return False
