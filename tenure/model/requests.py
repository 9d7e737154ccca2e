"""What each action is asked: S1 section 7.2's envelope, validated before anything is touched."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Annotated, Any, TypeVar

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from tenure.model.errors import InvalidPayload, InvalidRequest, NaiveDatetime
from tenure.model.json_text import canonical_json, instant, payload_hash
from tenure.model.queue import Key, Tag
from tenure.model.states import ErrorClass, Resolution, State

Text = Annotated[str, StringConstraints(min_length=1, max_length=2000, strip_whitespace=True, pattern=r"^[^\x00]*$")]
ShortText = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f]*$")]
Reference = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=r"^[^\x00-\x1f]*$")]
Uid = Annotated[int, Field(gt=0, lt=2**63)]
_M = TypeVar("_M", bound=BaseModel)
_MAX_MESSAGE = 100_000


def _storable(value: Any) -> Any:
    """A traceback may hold anything and be of any length, and must not keep a failure from being reported."""
    if not isinstance(value, str):
        return value
    text = value.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
    return text if len(text) <= _MAX_MESSAGE else text[: _MAX_MESSAGE - 1] + "…"


Message = Annotated[str, BeforeValidator(_storable)]


def validated(model: type[_M], **values: Any) -> _M:
    """``model(**values)`` with pydantic's complaints turned into ``InvalidRequest`` or ``NaiveDatetime``."""
    try:
        return model(**values)
    except ValidationError as error:
        raise invalid(error, model.__name__) from None


def invalid(error: ValidationError, what: str) -> InvalidRequest:
    """One sentence for the first complaint, all of them as evidence."""
    problems = [
        {"field": ".".join(map(str, e["loc"])) or what, "problem": e["msg"]}
        for e in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    first = problems[0]
    kind = NaiveDatetime if any(e["type"] == "timezone_aware" for e in error.errors()) else InvalidRequest
    hint = (
        "Give a time with its zone, e.g. datetime.now(timezone.utc)."
        if kind is NaiveDatetime
        else "Correct the field and send it again; nothing was changed."
    )
    return kind(f"{first['field']}: {first['problem']}.", hint, problems=problems)


class Request(BaseModel):
    """The guards that every action may carry (S1 sections 7.3 and 7.5)."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    idempotency_key: ShortText | None = None
    expected_state: State | None = None
    expected_revision: int | None = None
    expected_seq: int | None = None

    def payload(self) -> dict[str, Any]:
        """What is hashed to tell a replay from a conflict: everything but keys, guards and credentials."""
        values = self.model_dump(exclude=_NOT_PAYLOAD, exclude_none=True, exclude_defaults=True)
        return {k: instant(v) if hasattr(v, "astimezone") else v for k, v in values.items()}

    def payload_hash(self) -> bytes:
        """SHA-256 of ``payload``."""
        return payload_hash(self.payload())


_NOT_PAYLOAD = {
    "idempotency_key", "expected_state", "expected_revision", "expected_seq", "token_hash", "lease", "subject", "worker",
}  # fmt: skip


BARS = ("barred_workers", "barred_principals")


class SubmitSubject(Request):
    """Create a subject and put it before a queue, or leave it PENDING (``ready=False``)."""

    template: Key = "task/job/1.0"
    queue_key: Key | None = None
    properties: dict[str, Any] = Field(default_factory=dict)
    name: Text | None = None
    external_ref: ShortText | None = None
    payload_ref: ShortText | None = None
    next_action_key: Key | None = None
    priority: int = Field(0, ge=-32768, le=32767)
    ready_at: AwareDatetime | None = None
    due_at: AwareDatetime | None = None
    max_attempts: int | None = Field(None, ge=1, le=32000)
    slots: int = Field(1, ge=1, le=32000)
    site: Tag | None = None
    platform: Tag | None = None
    assay: Tag | None = None
    correlation_id: ShortText | None = None
    parents: tuple[Uid, ...] = ()
    ready: bool = True
    #: Who may not take it, because somebody else is to do it: workers, and all workers of principals.
    barred_workers: tuple[Uid, ...] = ()
    barred_principals: tuple[Uid, ...] = ()

    def born_with(self) -> dict[str, Any] | None:
        """The data of the fact ``subject.submitted``: whatever differs from the defaults."""
        if not self.model_fields_set & _BORN_WITH:
            return None
        values: dict[str, Any] = {
            "priority": self.priority or None,
            "ready_at": instant(self.ready_at) if self.ready_at else None,
            "due_at": instant(self.due_at) if self.due_at else None,
            "max_attempts_override": self.max_attempts,
            "next_action_key": self.next_action_key,
            "site": self.site,
            "platform": self.platform,
            "assay": self.assay,
        }
        if self.slots > 1:
            values |= {"slots_total": self.slots, "slots_free": self.slots}
        values |= {name: sorted(set(uids)) for name in BARS if (uids := getattr(self, name))}
        given = {k: v for k, v in values.items() if v is not None}
        return {"set": given} if given else None

    def payload_hash(self) -> bytes:
        """SHA-256 of everything that is asked for: the proof of the data tier, in every first fact.

        Letter for letter what the SQL function ``tenure.inputs_hash`` gives.
        """
        return self.proof(self.properties_text())

    def proof(self, properties_text: str) -> bytes:
        """``payload_hash``, given ``properties_text``."""
        if self.is_bare:
            before, after = _around(self.template, self.queue_key, self.ready)
        else:
            before, after = _frame(
                [self.template, self.queue_key],
                [
                    self.name, self.external_ref, self.payload_ref, self.correlation_id, self.born_with(), self.ready,
                    sorted(self.parents),
                ],
            )  # fmt: skip
        return hashlib.sha256(f"{before}{properties_text}{after}".encode()).digest()

    @property
    def is_bare(self) -> bool:
        """Whether it says nothing but what, where and whether at once."""
        return self.model_fields_set <= _BARE

    def properties_text(self) -> str:
        """The canonical JSON of the properties; what jsonb cannot hold raises ``InvalidPayload``."""
        try:
            return canonical_json(self.properties)
        except (ValueError, RecursionError) as error:
            raise InvalidPayload(
                f"This cannot be written as JSON: {error}.",
                "Give plain data: objects with text keys, lists, text, numbers.",
            ) from None


def _frame(before: list[Any], after: list[Any]) -> tuple[str, str]:
    """What stands in the array of a payload before and after the properties."""
    return canonical_json(before)[:-1] + ", ", ", " + canonical_json(after)[1:]


@lru_cache(maxsize=1000)
def _around(template: str, queue_key: str | None, ready: bool) -> tuple[str, str]:
    return _frame([template, queue_key], [None, None, None, None, None, ready, []])


_BARE = frozenset({"template", "queue_key", "properties", "ready"})
_BORN_WITH = frozenset({
    "priority", "ready_at", "due_at", "max_attempts", "next_action_key", "site", "platform", "assay", "slots",
    *BARS,
})  # fmt: skip


class ClaimItems(Request):
    """Take up to ``limit`` subjects of one queue, or exactly ``subject``, under lease."""

    worker: Uid
    incarnation: int | None = Field(None, ge=1)
    queue_key: Key
    token_hash: bytes
    limit: int = Field(1, ge=1, le=10_000)
    subject: Uid | None = None
    start: bool = False
    ttl_seconds: int | None = Field(None, ge=1, le=86400 * 365)


class LeaseRequest(Request):
    """An action of the holder of a lease: it proves itself with worker and token."""

    lease: Uid
    worker: Uid
    token_hash: bytes


class StartExecution(LeaseRequest):
    """Work begins. With ``deadline`` it goes on outside, and the lease lasts until then."""

    deadline: AwareDatetime | None = None


class DispatchExternal(LeaseRequest):
    """Work was handed to something outside (S1 section 7.6); the lease stays, until ``deadline`` or for good."""

    external_ref: ShortText | None = None
    deadline: AwareDatetime | None = None


class RenewLease(LeaseRequest):
    """Hold on for another ``ttl_seconds`` (the queue's where None)."""

    ttl_seconds: int | None = Field(None, ge=1, le=86400 * 365)


class ReleaseLease(LeaseRequest):
    """Give it back undone; no attempt is spent."""

    reason: Text | None = None


class CompleteExecution(LeaseRequest):
    """Work is done; ``next_queue_key`` sends the subject on."""

    result: Any = None
    result_ref: Reference | None = None
    next_queue_key: Key | None = None
    next_action_key: Key | None = None
    ready_at: AwareDatetime | None = None
    outputs: tuple[Uid, ...] = ()


class FailExecution(LeaseRequest):
    """Work failed; the class decides what follows (S1 section 8.4).

    A retry may go to ``next_queue_key``; a subject with several slots stays where it is, because the others go on.
    """

    error_class: ErrorClass = ErrorClass.TRANSIENT_SYSTEM
    error_code: ShortText | None = None
    error_message: Message | None = None
    retry_after_seconds: float | None = Field(None, ge=0, le=86400 * 365)
    next_queue_key: Key | None = None


class DeferExecution(LeaseRequest):
    """Try again later without spending an attempt."""

    until: AwareDatetime


class SubjectRequest(Request):
    """An operator's action on a subject; the reason is evidence."""

    subject: Uid


class PlaceHold(SubjectRequest):
    """Stop the line for one subject (S1 section 8.7)."""

    hold_code: Key = "OPERATOR"
    reason: Text


class ReleaseHold(SubjectRequest):
    """Let go of one hold, or of the only active one where ``hold`` is None."""

    hold: Uid | None = None
    reason: Text | None = None


class RequeueSubject(SubjectRequest):
    """Route a subject (again). A terminal one needs ``reopen``: the explicit admin requeue of S1 section 4.6."""

    queue_key: Key | None = None
    next_action_key: Key | None = None
    priority: int | None = Field(None, ge=-32768, le=32767)
    ready_at: AwareDatetime | None = None
    reason: Text | None = None
    reopen: bool = False


class CancelSubject(SubjectRequest):
    """Stop it for good."""

    reason: Text | None = None


class ResolveDeadLetter(SubjectRequest):
    """Close the open dead letter without running the subject again."""

    resolution: Resolution = Resolution.IGNORED
    reason: Text


class ExpireLease(Request):
    """End a lease that ran out; ``force`` (admin) ends a live one."""

    lease: Uid
    force: bool = False
    reason: Text | None = None
