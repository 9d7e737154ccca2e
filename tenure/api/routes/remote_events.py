"""Execution events: an execution stack tells how executions stand (S5)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from tenure.api.answers import Answer
from tenure.api.authentication import GatewayOf, NodeIdentity
from tenure.api.body import JsonRoute
from tenure.api.live.collecting import Collecting, raised
from tenure.api.schemas.remote import EventsBody
from tenure.engine.caller import Caller
from tenure.model.errors import InvalidRequest, TenureError
from tenure.remote.engine.events_log import log_event
from tenure.remote.engine.receiving import Outcome, receive_events, tell_outcome
from tenure.remote.model.contracts import EventReceived, EventResult, EventResults, ExecutionEvent
from tenure.remote.model.errors import InvalidEvent
from tenure.sdk.public_form import public
from tenure.store.operation import Op

_CORRECT = "Correct the event and send it again; nothing was changed."


class EventRoute(JsonRoute):
    """A route whose body is an event: what breaks its schema is ``invalid_event``, and is told in a line."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of a JSON route, with the code of S5."""
        handle = super().get_route_handler()

        async def handle_event(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                raise _invalid(error.errors(), error.body) from None
            except InvalidRequest as error:
                if error.code != InvalidRequest.code:
                    raise
                log_event({}, "refused", InvalidEvent.code)
                raise InvalidEvent(error.message, error.hint, **error.evidence) from None

        return handle_event


router = APIRouter(prefix="/api/v1/remote", tags=["remote"])
_single = APIRouter(route_class=EventRoute)
_batches = APIRouter(route_class=JsonRoute)


@_single.post("/events", operation_id="receive_event", summary="Report how an execution stands",
              response_model=EventReceived)  # fmt: skip
async def receive_one(body: ExecutionEvent, request: Request, identity: NodeIdentity) -> Answer:
    """Of the node that one is bound to. An event_id that came before is answered with success and does nothing.

    Anything but 200 means that nothing was changed. 409 `invalid_transition` is final for that event; a 5xx, or no answer, is
    to be sent again as it is.
    """
    collecting: Collecting = request.app.state.collecting
    outcome = await collecting.take_in(identity, body)
    tell_outcome(body, outcome)
    return Answer(public(raised(outcome)))


@_batches.post("/events/batch", operation_id="receive_events", summary="Report many events",
               response_model=EventResults)  # fmt: skip
async def receive_batch(body: EventsBody, identity: NodeIdentity, gateway: GatewayOf) -> Answer:
    """A result for each event, in order: what it would have had alone. One that is refused leaves the others alone."""
    read = [_read(given) for given in body.events]
    valid = [event for event in read if isinstance(event, ExecutionEvent)]

    def receive(caller: Caller) -> Op[list[Outcome]]:
        return receive_events(caller, valid)

    outcomes = iter(await gateway.perform(identity, receive))
    results = [
        _result(given, next(outcomes) if isinstance(event, ExecutionEvent) else event)
        for given, event in zip(body.events, read, strict=True)
    ]
    return Answer(public(EventResults(results=tuple(results))))


def _read(given: Any) -> ExecutionEvent | TenureError:
    try:
        return ExecutionEvent.model_validate(given)
    except ValidationError as error:
        return _invalid(error.errors(include_url=False, include_context=False, include_input=False), given)


def _invalid(errors: Sequence[Mapping[str, Any]], given: Any) -> InvalidEvent:
    log_event(given if isinstance(given, dict) else {}, "refused", InvalidEvent.code)
    problems = [
        {"field": ".".join(str(part) for part in e["loc"] if part != "body") or "event", "problem": e["msg"]}
        for e in errors
    ]
    first = problems[0]
    return InvalidEvent(f"{first['field']}: {first['problem']}.", _CORRECT, problems=problems)


def _result(given: Any, outcome: Outcome) -> EventResult:
    event_id = given.get("event_id") if isinstance(given, dict) else None
    event_id = event_id if isinstance(event_id, str) else None
    if isinstance(outcome, TenureError):
        return EventResult(
            event_id=event_id, status=outcome.status, code=outcome.code, detail=outcome.message, hint=outcome.hint
        )
    return EventResult(event_id=event_id, status=200, received=outcome)


router.include_router(_single)
router.include_router(_batches)
