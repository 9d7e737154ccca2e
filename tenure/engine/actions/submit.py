"""submit_subject: create and enqueue, in the caller's own transaction where there is one (design 01, The actions)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import jsonschema
from jsonschema.protocols import Validator

from tenure.engine import logging
from tenure.engine.acting import Outcome, single
from tenure.engine.caller import Caller
from tenure.engine.tracing import span
from tenure.model.errors import InvalidPayload, NotFound, TenureError
from tenure.model.json_text import canonical_json
from tenure.model.requests import SubmitSubject
from tenure.model.result import ActionResult
from tenure.model.transitions import Action
from tenure.store.operation import Op, done
from tenure.store.port import Store
from tenure.store.records import Refused, Submission, Template

_CHUNK = 1000


def submit_many(caller: Caller, requests: Sequence[SubmitSubject]) -> Op[list[Outcome]]:
    """The set form: a result or an error for each request; what is in error creates nothing."""
    elapsed = logging.stopwatch()
    with span("tenure.submit_subject", {"tenure.batch": len(requests)}):
        outcomes = yield from _submit(caller, requests)
        if logging.wanted():
            known = [{"correlation_id": request.correlation_id} for request in requests]
            logging.log_many(caller, Action.SUBMIT, outcomes, elapsed(), requests, known=known)
    return outcomes


def submit(caller: Caller, request: SubmitSubject) -> Op[ActionResult]:
    """The single form; raises what the set form returns as error."""
    return single((yield from submit_many(caller, [request])))


def _submit(caller: Caller, requests: Sequence[SubmitSubject]) -> Op[list[Outcome]]:
    templates = yield from templates_by_code(caller, {r.template for r in requests})
    if len(requests) <= _CHUNK:
        land = yield from _begin(caller, requests, templates)
        return (yield from land)
    return (yield from caller.store.transaction(_in_chunks(caller, requests, templates)))


def _in_chunks(caller: Caller, requests: Sequence[SubmitSubject], templates: dict[str, Template]) -> Op[list[Outcome]]:
    """Check the next chunk while the database writes the last: one transaction all the same."""
    landings = []
    for first in range(0, len(requests), _CHUNK):
        landings.append((yield from _begin(caller, requests[first : first + _CHUNK], templates)))  # noqa: PERF401 - it yields
    outcomes: list[Outcome] = []
    for land in landings:
        outcomes += yield from land
    return outcomes


def _begin(caller: Caller, requests: Sequence[SubmitSubject], templates: dict[str, Template]) -> Op[Op[list[Outcome]]]:
    outcomes: list[Outcome | None] = []
    items, places = [], []
    for index, request in enumerate(requests):
        try:
            items.append(checked(request, templates))
            places.append(index)
            outcomes.append(None)
        except TenureError as error:
            outcomes.append(error)
    landing: Op[list[Outcome]] = done([])
    if items:
        landing = yield from caller.store.submit_ahead(caller.tenant, caller.actor, items)
    return _land(caller, requests, outcomes, places, landing)


def _land(
    caller: Caller, requests: Sequence[SubmitSubject], outcomes: list[Outcome | None], places: Sequence[int],
    landing: Op[list[Outcome]],
) -> Op[list[Outcome]]:  # fmt: skip
    refused = []
    for index, answer in zip(places, (yield from landing), strict=True):
        outcomes[index] = answer
        if isinstance(answer, TenureError) or answer.replayed:
            refused += _refusals(caller, requests[index], answer)
    if refused:
        yield from caller.store.refuse(caller.tenant, refused)
    return [outcome for outcome in outcomes if outcome is not None]


_known: WeakKeyDictionary[Store, dict[tuple[int, str], Template]] = WeakKeyDictionary()


def templates_by_code(caller: Caller, codes: set[str]) -> Op[dict[str, Template]]:
    """Templates are immutable, so what was read once is not read again: for as long as the store is there.

    Within somebody else's transaction what is read may never have been, so there it is not kept.
    """
    known = _known.setdefault(caller.store, {})
    found = {code: t for code in codes if (t := known.get((caller.tenant, code))) is not None}
    missing = codes - found.keys()
    if missing:
        read = yield from caller.store.templates(caller.tenant, sorted(missing))
        found |= read
        if not caller.joins:
            known.update({(caller.tenant, code): template for code, template in read.items()})
    return found


def checked(request: SubmitSubject, templates: dict[str, Template]) -> Submission:
    """The request as a store takes it; ``NotFound`` for its template, ``InvalidPayload`` for what breaks its schema."""
    template = templates.get(request.template)
    if template is None:
        raise NotFound(
            f"There is no template {request.template!r}.",
            "Define it first, or correct the code.",
            template=request.template,
        )
    if template.properties_schema:
        _check_schema(request, template)
    return Submission.of(request, template.uid)


def _check_schema(request: SubmitSubject, template: Template) -> None:
    validator = _validator(canonical_json(template.properties_schema))
    error = jsonschema.exceptions.best_match(validator.iter_errors(request.properties))
    if error is not None:
        where = "/".join(str(part) for part in error.absolute_path) or "properties"
        raise InvalidPayload(
            f"{where} breaks the schema of template {template.code}: {error.message}.",
            "Correct the properties; nothing was created.", template=template.code, path=where,
        )  # fmt: skip


@lru_cache(maxsize=256)
def _validator(schema: str) -> Validator:
    parsed: Any = json.loads(schema)
    return jsonschema.Draft202012Validator(parsed)


def _refusals(caller: Caller, request: SubmitSubject, answer: Outcome) -> list[Refused]:
    if isinstance(answer, ActionResult):
        return [Refused("idempotent_replay", Action.SUBMIT, caller.actor, "Answered from before.",
                        subject=answer.subject, queue_key=request.queue_key)] if answer.replayed else []  # fmt: skip
    if answer.status == 409:
        return [Refused(answer.code, Action.SUBMIT, caller.actor, answer.message, queue_key=request.queue_key)]
    return []
