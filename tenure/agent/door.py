"""The agent's way to the server: HTTP, only outwards (design 04, Management-node agent)."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import quote

import httpx
from pydantic import ValidationError
from pydantic_core import from_json

from tenure.agent.errors import AnotherAgent, InvalidSettings, Superseded
from tenure.agent.settings import AgentSettings
from tenure.model.errors import Forbidden, StoreUnavailable, TenureError, WorkerSuperseded
from tenure.remote.model.contracts import NodeOrders, NodePoll
from tenure.sdk.http.address import Address
from tenure.sdk.http.problem import problem_of

PREFIX = "/api/v1/remote"
_CONNECT = 10.0
_AGAIN = frozenset({408, 425, 429})
_CREDENTIAL = frozenset({401, 403})
_LONGEST_WAIT = 3600.0
_BETWEEN = "Something between this node and the server answered."


class Fate(StrEnum):
    """What became of an event that was sent."""

    DELIVERED = "delivered"
    AGAIN = "again"
    """No answer, or one that will be another later."""
    BARRED = "barred"
    """The token is not known, or may not report now: that says nothing of the event, and is mended at the server or in the
    token file.
    """
    REFUSED = "refused"
    """The server does not take this event, however often it is sent."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How the server answered one event."""

    fate: Fate
    said: str
    wait: float | None = None
    """For how many seconds it asks to be left alone."""
    reached: bool = True
    """Whether there was an answer at all."""


class Door:
    """For one event loop."""

    def __init__(self, address: Address, settings: AgentSettings) -> None:
        self.address = address
        self._node = settings.node
        self._answer = settings.delivery.answer_seconds
        self._client = httpx.AsyncClient(
            verify=_trust(settings), timeout=httpx.Timeout(self._answer, connect=_CONNECT, pool=None),
            limits=httpx.Limits(max_connections=None, keepalive_expiry=30.0), follow_redirects=False,
        )  # fmt: skip

    async def poll(self, said: NodePoll) -> NodeOrders:
        """Say how the node stands and hear what it is to do.

        Raises AnotherAgent where the node has one in another folder, Superseded where such a one has taken this one's place,
        StoreUnavailable where no answer came, TenureError for a refusal.
        """
        path = f"/nodes/{quote(self._node, safe='')}/poll"
        response = await self._post(path, said.wire(), self._answer + said.wait_seconds)
        if response.is_success:
            try:
                return NodeOrders.model_validate_json(response.content)
            except ValidationError as error:
                raise StoreUnavailable(
                    "The server answered a poll with what is no answer of this version's.",
                    "Check the URL, and that server and agent are of like versions.",
                ) from error
        problem = problem_of(response.status_code, response.content)
        if problem.code == WorkerSuperseded.code:
            raise Superseded(
                f"The server takes another agent for node {self._node} now: {problem.message}",
                "A node has one agent and one state folder. If this is the right one, stop the other and start this.",
            )
        if problem.code == AnotherAgent.code:
            raise AnotherAgent(problem.message, problem.hint, **problem.evidence)
        raise problem

    async def whose(self) -> str:
        """The name of the node that the token is of.

        Raises StoreUnavailable, Unauthenticated, Forbidden, NodeNotFound where it is of no node, TenureError.
        """
        response = await self._request("GET", "/node", self._answer)
        if not response.is_success:
            raise problem_of(response.status_code, response.content)
        try:
            return str(from_json(response.content)["node"])
        except (ValueError, KeyError, TypeError) as error:
            raise StoreUnavailable(
                "The server answered with what is no node.",
                "Check the URL, and that server and agent are of like versions.",
            ) from error

    async def send(self, body: str) -> Answer:
        """Send one event."""
        try:
            response = await self._post("/events", body, self._answer)
        except StoreUnavailable as error:
            return Answer(Fate.AGAIN, error.message, reached=False)
        answer = _answer(response.status_code, response.content, response.headers.get("retry-after"))
        if answer.fate is Fate.DELIVERED and _event_id(response.content) != _event_id(body):
            return Answer(Fate.AGAIN, f"{response.status_code}, but no acknowledgement of Tenure's. {_BETWEEN}")
        return answer

    async def send_many(self, bodies: Sequence[str]) -> list[Answer] | None:
        """Send events of as many executions in one request; an answer for each, in their order.

        None where the request as a whole is not taken, which says nothing of any event: each is to go alone.
        """
        content = '{"events":[' + ",".join(bodies) + "]}"
        try:
            response = await self._post("/events/batch", content, self._answer)
        except StoreUnavailable as error:
            return [Answer(Fate.AGAIN, error.message, reached=False)] * len(bodies)
        if not response.is_success:
            answer = _answer(response.status_code, response.content, response.headers.get("retry-after"))
            about_when = response.status_code in _AGAIN or not 400 <= response.status_code < 500
            return [answer] * len(bodies) if about_when or answer.fate is Fate.BARRED else None
        try:
            results = from_json(response.content)["results"]
            answers = [_of_result(result) for result in results]
        except (ValueError, KeyError, TypeError):
            answers = []
        if len(answers) != len(bodies):
            return [Answer(Fate.AGAIN, "The server answered a batch with what is no answer to it.")] * len(bodies)
        return answers

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def _post(self, path: str, body: Any, patience: float) -> httpx.Response:
        return await self._request(
            "POST", path, patience, **({"content": body} if isinstance(body, str) else {"json": body})
        )

    async def _request(self, method: str, path: str, patience: float, **content: Any) -> httpx.Response:
        while True:
            try:
                response = await self._client.request(
                    method, f"{self.address.url}{PREFIX}{path}",
                    headers={"Authorization": self.address.authorization, "Content-Type": "application/json"},
                    timeout=httpx.Timeout(patience, connect=_CONNECT, pool=None), **content,
                )  # fmt: skip
            except (httpx.HTTPError, OSError) as error:
                said = f"{type(error).__name__}: {error}".rstrip(": ")
                raise StoreUnavailable(
                    f"{self.address.url} did not answer ({said}).", "See that it runs and that this node reaches it."
                ) from error
            if response.status_code in _CREDENTIAL and self.address.renewed():
                continue
            return response


def _answer(status: int, content: bytes, retry_after: str | None) -> Answer:
    if 200 <= status < 300:
        return Answer(Fate.DELIVERED, "")
    problem = problem_of(status, content)
    said = f"{status} {problem.code}: {problem}"
    wait = _seconds(retry_after, problem)
    if status >= 500 or status in _AGAIN or 300 <= status < 400:
        return Answer(Fate.AGAIN, said, wait)
    if status == httpx.codes.UNAUTHORIZED or _may_not_report(problem):
        return Answer(Fate.BARRED, said)
    if not _is_ours(content):
        return Answer(Fate.AGAIN, f"{said} {_BETWEEN}", wait)
    return Answer(Fate.REFUSED, said)


def _may_not_report(problem: TenureError) -> bool:
    """Whether the sender lacks the permission: no role that has it, or no node. A 403 for the event itself names none."""
    return isinstance(problem, Forbidden) and "permission" in problem.evidence


def _is_ours(content: bytes) -> bool:
    """Whether the server itself refuses: it says so with a code. A proxy that is being set up, or that forbids, has none."""
    try:
        problem = from_json(content)
    except ValueError:
        return False
    return isinstance(problem, dict) and isinstance(problem.get("code"), str)


def _event_id(document: str | bytes) -> object:
    """The id in an event, or in its acknowledgement."""
    try:
        event = from_json(document)
    except ValueError:
        return None
    return event.get("event_id") if isinstance(event, dict) else None


def _of_result(result: dict[str, Any]) -> Answer:
    status = int(result["status"])
    if 200 <= status < 300:
        return Answer(Fate.DELIVERED, "")
    said = f"{status} {result.get('code')}: {result.get('detail') or ''} {result.get('hint') or ''}".rstrip()
    if status >= 500 or status in _AGAIN:
        return Answer(Fate.AGAIN, said)
    return Answer(Fate.BARRED if status == httpx.codes.UNAUTHORIZED else Fate.REFUSED, said)


def _seconds(header: str | None, problem: TenureError) -> float | None:
    if header is not None and header.strip().isdigit():
        return min(float(header), _LONGEST_WAIT)
    asked = problem.evidence.get("retry_after")
    return min(float(asked), _LONGEST_WAIT) if isinstance(asked, int | float) else None


def _trust(settings: AgentSettings) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if settings.ca_file is not None:
        try:
            context.load_verify_locations(cafile=settings.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise InvalidSettings(
                f"ca_file {settings.ca_file} holds no certificates that can be read: {error}.", "Give a PEM file."
            ) from None
    return context
