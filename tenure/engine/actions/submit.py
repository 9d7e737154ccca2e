"""submit_subject: create and enqueue, in the caller's own transaction where there is one (design 01, The actions)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

from tenure.engine import logging
from tenure.engine.acting import Outcome, single
from tenure.engine.caller import Caller
from tenure.engine.json_schema import breach
from tenure.engine.tracing import span
from tenure.model.errors import InvalidPayload, NotFound, TenureError
from tenure.model.requests import SubmitSubject
from tenure.model.result import ActionResult
from tenure.model.transitions import Action
from tenure.store.answers import Born, Joined
from tenure.store.operation import Op, done
from tenure.store.port import Store
from tenure.store.records import Refused, Submission, Template

_CHUNK = 1000
_FIRST_CHUNK = 200
"""So that the database has something to do soon."""


def submit_many(caller: Caller, requests: Sequence[SubmitSubject]) -> Op[Sequence[Outcome]]:
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


def _submit(caller: Caller, requests: Sequence[SubmitSubject]) -> Op[Sequence[Outcome]]:
    templates = yield from templates_by_code(caller, {r.template for r in requests})
    if len(requests) > _CHUNK:
        return (yield from caller.store.transaction(_in_chunks(caller, requests, templates)))
    items, errors = _checked(requests, templates)
    answers = (yield from caller.store.submit(caller.tenant, caller.actor, items)) if items else []
    return (yield from _told(caller, requests, errors, answers))


def _in_chunks(
    caller: Caller, requests: Sequence[SubmitSubject], templates: Mapping[str, Template]
) -> Op[Sequence[Outcome]]:
    """Check the next chunk while the database writes the last: one transaction all the same."""
    landings = []
    first, size = 0, _FIRST_CHUNK
    while first < len(requests):
        chunk = requests[first : first + size]
        items, errors = _checked(chunk, templates)
        landing = (yield from caller.store.submit_ahead(caller.tenant, caller.actor, items)) if items else done(())
        landings.append((chunk, errors, landing))
        first, size = first + size, _CHUNK
    parts: list[Sequence[Outcome]] = []
    for chunk, errors, landing in landings:
        parts.append((yield from _told(caller, chunk, errors, (yield from landing))))
    return Joined(parts)


def _checked(
    requests: Sequence[SubmitSubject], templates: Mapping[str, Template]
) -> tuple[list[Submission], dict[int, TenureError]]:
    """What a store can take, and by its place what is wrong with the others."""
    items: list[Submission] = []
    errors: dict[int, TenureError] = {}
    for index, request in enumerate(requests):
        try:
            items.append(checked(request, templates))
        except TenureError as error:
            errors[index] = error
    return items, errors


def _told(
    caller: Caller, requests: Sequence[SubmitSubject], errors: Mapping[int, TenureError], answers: Sequence[Outcome]
) -> Op[Sequence[Outcome]]:
    """The outcomes in the order of the requests; what the store refused or answered from before is noted."""
    if isinstance(answers, Born) and not errors:
        return answers
    rest = iter(answers)
    outcomes = [errors[index] if index in errors else next(rest) for index in range(len(requests))]
    refused: list[Refused] = []
    for index, answer in enumerate(outcomes):
        if index not in errors and (isinstance(answer, TenureError) or answer.replayed):
            refused += _refusals(caller, requests[index], answer)
    if refused:
        yield from caller.store.refuse(caller.tenant, refused)
    return outcomes


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


def checked(request: SubmitSubject, templates: Mapping[str, Template]) -> Submission:
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
    found = breach(template.properties_schema, request.properties, "properties")
    if found is not None:
        where, message = found
        raise InvalidPayload(
            f"{where} breaks the schema of template {template.code}: {message}.",
            "Correct the properties; nothing was created.", template=template.code, path=where,
        )  # fmt: skip


def _refusals(caller: Caller, request: SubmitSubject, answer: Outcome) -> list[Refused]:
    if isinstance(answer, ActionResult):
        return [Refused("idempotent_replay", Action.SUBMIT, caller.actor, "Answered from before.",
                        subject=answer.subject, queue_key=request.queue_key)] if answer.replayed else []  # fmt: skip
    if answer.status == 409:
        return [Refused(answer.code, Action.SUBMIT, caller.actor, answer.message, queue_key=request.queue_key)]
    return []
