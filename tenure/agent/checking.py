"""What ``tenure agent check`` looks at: everything that an agent needs, before it is started. Changes nothing that stays."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from pydantic import ValidationError

from tenure.agent.adapters import scheduler_for
from tenure.agent.door import Door
from tenure.agent.durable import try_writing
from tenure.agent.lock import holder_of
from tenure.agent.payload.stores import store_of
from tenure.agent.scheduler import SchedulerUnavailable
from tenure.agent.sentences import reason_of
from tenure.agent.settings import AgentSettings
from tenure.agent.store.opening import FILE
from tenure.agent.store.store import Store
from tenure.agent.uris import shown
from tenure.model.errors import Forbidden, TenureError
from tenure.remote.model.fields import ResultRef
from tenure.sdk.http.address import Address


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    fine: bool
    said: str
    hint: str = ""


def check(settings: AgentSettings, address: Callable[[], Address]) -> Iterator[Finding]:
    """Look at one thing after the other; each that is wrong says what to do."""
    running = holder_of(settings.folder) if settings.folder.exists() else None
    yield _try("state folder", lambda: _state(settings, running))
    yield _try("working folder", lambda: _writable(settings))
    for name, where in {"results": settings.result_store, **settings.results.buckets}.items():
        yield _try(f"payload store {name}", lambda where=where: _payload(where))  # type: ignore[misc]
    yield _try("scheduler", lambda: _scheduler(settings, running))
    yield _try("server", lambda: asyncio.run(_server(settings, address())))


def _try(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what, True, look())
    except TenureError as error:
        return Finding(what, False, error.message, error.hint)
    except SchedulerUnavailable as error:
        return Finding(what, False, f"It does not answer: {error}", "See that it runs, and that this user may ask it.")
    except ValidationError:
        return Finding(
            what, False, "Its name makes no URI: it has a space or another odd character.", "Percent-encode it."
        )
    except OSError as error:
        return Finding(what, False, f"{error.filename or ''}: {error.strerror or error}".lstrip(": "),
                       "Make it, and give it to the agent's user.")  # fmt: skip
    except Exception as error:  # whatever a payload store raises
        return Finding(what, False, reason_of(error), "See the documentation of that store.")


def _state(settings: AgentSettings, running: int | None) -> str:
    folder = settings.folder
    folder.mkdir(parents=True, exist_ok=True, mode=0o750)
    if running is not None:
        return f"{folder}, where an agent works (process {running})"
    if (folder / FILE).exists():
        Store(folder).close()
        return f"{folder}, of an agent that does not run now"
    return f"{folder}, new"


def _writable(settings: AgentSettings) -> str:
    try_writing(settings.work_folder)
    return f"{settings.work_folder}; jobs must see it under the same path on every computer that they run on"


def _payload(where: str) -> str:
    store, name = store_of(where), PurePosixPath(f".check-{uuid.uuid4().hex}")
    with store.writing(name) as file:
        file.write(b"check")
    store.remove(name)
    ResultRef(output_uri=store.uri(name))  # what the server is told must be a URI
    return f"{shown(where)} takes files"


def _scheduler(settings: AgentSettings, running: int | None) -> str:
    if settings.kind == "local" and running is not None:
        return "local; the agent that runs has it"
    scheduler = scheduler_for(settings)
    scheduler.open()
    try:
        scheduler.find([str(uuid.uuid4())])
        return f"{scheduler.name} answers"
    finally:
        scheduler.close()


async def _server(settings: AgentSettings, address: Address) -> str:
    door = Door(address, settings)
    try:
        node = await door.whose()
    finally:
        await door.close()
    if node != settings.node:
        raise Forbidden(
            f"{address.url} answers, and the token is node {node}'s; this agent is node {settings.node}'s.",
            f"Make one for it (tenure node token {settings.node}), or correct the node in the settings.",
        )
    return f"{address.url} answers, and the token is node {node}'s"
