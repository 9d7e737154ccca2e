"""``tenure subscription``: which events leave, where to, and how far each has come."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from tenure.cli.arguments import KeyOption, LimitOption, NeededReason, ReasonOption
from tenure.cli.call import Call, call_of
from tenure.ledger.rows import SubscriptionStanding, WaitingEvent
from tenure.ledger.subscriptions import Defined
from tenure.model import euid
from tenure.model.errors import InvalidRequest, StoreUnavailable
from tenure.terminal.listing import fields, table
from tenure.terminal.reasons import reasons_told
from tenure.terminal.wording import age, moment, state
from tenure.wording import subscriptions as wording

group = typer.Typer(name="subscription", help="Subscriptions: which events leave, and where to.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of the subscription.")]
LetterArgument = Annotated[str, typer.Argument(metavar="DEAD_LETTER", help="EUID of the dead letter, e.g. EX-1T8Z.")]
_POLL = 0.25


@group.command()
def define(
    context: typer.Context, name: NameArgument,
    url: Annotated[str | None, typer.Option("--url", help="Post events to this URL, signed.")] = None,
    file: Annotated[str | None, typer.Option("--file", help="Or append them to this file, in the relay's folder.")] = None,
    stdout: Annotated[bool, typer.Option("--stdout", help="Or write them to the standard output of the relay.")] = False,
    actor: Annotated[str | None, typer.Option("--for", metavar="ACTOR", help="Whose it is: service:shop, user:ada, ...")] = None,
    types: Annotated[list[str] | None, typer.Option("--type", help="Fact types: run.terminal, run.*, * (repeat).")] = None,
    domains: Annotated[list[str] | None, typer.Option("--domain", help="Of this domain: execution, flow, ... (repeat).")] = None,
    streams: Annotated[list[str] | None, typer.Option("--stream", help="Of this stream: alert, update, ... (repeat).")] = None,
    severities: Annotated[list[str] | None, typer.Option("--severity", help="Of this severity (repeat).")] = None,
    queues: Annotated[list[str] | None, typer.Option("--queue", help="Of this queue only (repeat).")] = None,
    start: Annotated[str, typer.Option("--start", help="now, beginning, or a position of the ledger.")] = "now",
    allow_private: Annotated[bool, typer.Option("--allow-private", help="The URL may be in a private network, and http.")] = False,
    timeout: Annotated[float, typer.Option("--timeout", metavar="SECONDS", help="Of one request.")] = 10.0,
    concurrency: Annotated[int, typer.Option("--concurrency", help="Requests at once, each of another thread.")] = 8,
    on_poison: Annotated[str, typer.Option("--on-poison", help="skip what the receiver refuses, or stop at it.")] = "skip",
    max_attempts: Annotated[int, typer.Option("--max-attempts", help="Failures of one event while others get through.")] = 10,
    first_delay: Annotated[float, typer.Option("--first-delay", metavar="SECONDS", help="Before the next; then doubled.")] = 1.0,
    most_delay: Annotated[float, typer.Option("--most-delay", metavar="SECONDS", help="Between attempts at most.")] = 300.0,
    group_by: Annotated[str, typer.Option("--group-by", help="What waits as one: thread, or correlation.")] = "thread",
    window: Annotated[int | None, typer.Option("--window", metavar="SECONDS", help="Hold events so long, 60 to 300.")] = None,
    source: Annotated[str | None, typer.Option("--source", help="The source of its events, a URI reference.")] = None,
    idempotency_key: KeyOption = None,
) -> None:  # fmt: skip
    """Define a subscription, or change the one of that name. The key of a webhook is shown once."""
    call = call_of(context)
    destination: dict[str, Any]
    if [bool(url), bool(file), stdout].count(True) != 1:
        raise InvalidRequest("A subscription has one destination.", "Give one of --url, --file and --stdout.")
    if url:
        destination = {
            "kind": "webhook", "url": url, "allow_private": allow_private, "timeout_seconds": timeout, "concurrency": concurrency,
        }  # fmt: skip
    else:
        destination = {"kind": "file", "name": file} if file else {"kind": "stdout"}
    wanted = {
        "types": types, "domains": domains, "streams": streams, "severities": severities, "queues": queues,
    }  # fmt: skip
    lane: dict[str, Any] = {"lane": "delayed", "window_seconds": window} if window is not None else {}
    made = call.client.define_subscription(
        name, actor=actor or f"service:{name}", destination=destination, start=_start(start),
        filter={criterion: given for criterion, given in wanted.items() if given}, on_poison=on_poison,
        max_attempts=max_attempts, source=source, group_by=group_by,
        idempotency_key=idempotency_key, **lane,
        backoff={"initial_delay_seconds": first_delay, "max_delay_seconds": most_delay, "jitter": 0.3},
    )  # fmt: skip
    _tell_defined(call, made)


@group.command("list")
def list_subscriptions(context: typer.Context) -> None:
    """All subscriptions, and how far each has come."""
    call = call_of(context)
    found = call.client.subscriptions()
    rows = [
        (s.subscription.name, _where(s), _status(s), f"{s.delivered:,}", s.parked, s.open_dead_letters,
         age((s.at - s.oldest_at).total_seconds()) if s.oldest_at else "")
        for s in found
    ]  # fmt: skip
    columns = ["subscription", "to", "status", ">delivered", ">waiting", ">given up", "oldest unsent"]
    call.answer_each(found, table(columns, rows) if rows else "There are no subscriptions.")


@group.command()
def show(context: typer.Context, name: NameArgument, limit: LimitOption = 10) -> None:
    """One subscription: what it wants, how far it has come, and what failed of late."""
    call = call_of(context)
    standing = call.client.subscription(name)
    failed = call.client.failed_deliveries(name, limit=limit)
    waits = call.client.waiting_events(name, limit=limit)
    rows = [(moment(f.at), f.outcome, f.code, f.attempts, f.position) for f in failed]
    told = [fields(_shown(standing))]
    if waits:
        told.append(_waiting_table(standing.subscription.spec.max_attempts, waits, "What it waits for"))
    if rows:
        told.append(table(["at", "outcome", "by", ">attempts", ">position"], rows, title="What failed of late"))
    call.answer({"standing": standing, "waiting": waits, "failed": failed}, *told)


@group.command()
def why(context: typer.Context, name: NameArgument) -> None:
    """Exactly why it sends nothing, or not everything, and what can be done."""
    call = call_of(context)
    found = call.client.explain_subscription(name)
    call.answer([reason.as_dict() for reason in found], *reasons_told(found))


@group.command()
def waiting(context: typer.Context, name: NameArgument, limit: LimitOption = 50) -> None:
    """The events for which threads or groups wait: what failed, what was answered last, when it is tried again."""
    call = call_of(context)
    most = call.client.subscription(name).subscription.spec.max_attempts
    found = call.client.waiting_events(name, limit=limit)
    call.answer_each(found, _waiting_table(most, found) if found else "Nothing waits.")


@group.command("give-up")
def give_up(
    context: typer.Context, name: NameArgument,
    event: Annotated[str, typer.Argument(metavar="EVENT", help="As listed: an EUID and a number, e.g. SX-1T8Z/3.")],
    reason: NeededReason, idempotency_key: KeyOption = None,
) -> None:  # fmt: skip
    """Dead-letter an event that waits, by hand. What waits behind it goes on."""
    call = call_of(context)
    given = call.client.give_up_event(name, event, reason=reason, idempotency_key=idempotency_key)
    call.answer(
        given, f"{given.event} is dead-lettered at the relay's next turn: tenure subscription deadletters {name}"
    )


@group.command()
def pause(
    context: typer.Context, name: NameArgument, reason: ReasonOption = None, idempotency_key: KeyOption = None
) -> None:
    """Let a subscription rest; what is told meanwhile is sent when it goes on."""
    call = call_of(context)
    row = call.client.pause_subscription(name, reason=reason, idempotency_key=idempotency_key)
    call.answer(row, f"{row.name} rests. Let it go on: tenure subscription resume {row.name}")


@group.command()
def resume(
    context: typer.Context, name: NameArgument, reason: ReasonOption = None, idempotency_key: KeyOption = None
) -> None:
    """Let it go on from where it stands."""
    call = call_of(context)
    row = call.client.resume_subscription(name, reason=reason, idempotency_key=idempotency_key)
    call.answer(row, f"{row.name} goes on.")


@group.command()
def remove(
    context: typer.Context, name: NameArgument, reason: ReasonOption = None, idempotency_key: KeyOption = None
) -> None:
    """Take a subscription out of use for good; its history stays."""
    call = call_of(context)
    row = call.client.remove_subscription(name, reason=reason, idempotency_key=idempotency_key)
    call.answer(row, f"{row.name} is out of use.")


@group.command("rotate-key")
def rotate_key(
    context: typer.Context, name: NameArgument,
    drop_former: Annotated[bool, typer.Option("--drop-former", help="Let go of the former key instead.")] = False,
    idempotency_key: KeyOption = None,
) -> None:  # fmt: skip
    """Give it a new signing key. Events carry a signature of each, until the former one is dropped."""
    call = call_of(context)
    _tell_defined(call, call.client.rotate_signing_key(name, drop_former=drop_former, idempotency_key=idempotency_key))


@group.command()
def test(
    context: typer.Context, name: NameArgument,
    wait: Annotated[float, typer.Option("--wait", metavar="SECONDS", help="How long to wait for what becomes of it.")] = 10.0,
    idempotency_key: KeyOption = None,
) -> None:  # fmt: skip
    """Send it a test, on the way that all its events go, and wait for what becomes of it. Status 1 where it failed."""
    call = call_of(context)
    fact = call.client.test_subscription(name, idempotency_key=idempotency_key)
    position = fact.position or 0
    deadline = time.monotonic() + wait
    while True:
        failed = [each for each in call.client.failed_deliveries(name) if each.position == position]
        standing = call.client.subscription(name)
        if failed or standing.position >= position or time.monotonic() > deadline:
            break
        time.sleep(_POLL)
    if failed:
        raise InvalidRequest(
            f"The receiver did not take it: {failed[0].code}.",
            "See to the receiver; what failed is tried again. tenure subscription show NAME says more.",
        )
    if standing.position < position:
        raise StoreUnavailable(
            f"It was not sent within {wait:g} s.", "See that a relay runs: tenure relay, or a server that has one."
        )
    call.answer({"delivered": True, "position": position}, "The receiver has confirmed it.")


@group.command()
def deadletters(
    context: typer.Context, name: NameArgument,
    everything: Annotated[bool, typer.Option("--all", help="The resolved ones, too.")] = False,
    limit: LimitOption = 50,
) -> None:  # fmt: skip
    """What a subscription gave up, newest first."""
    call = call_of(context)
    found = call.client.event_dead_letters(name, open_only=not everything, limit=limit)
    rows = [
        (euid.format_euid(euid.EVENT_DEAD_LETTER, d.uid), d.type, d.position, state(d.status), d.code, d.attempts,
         moment(d.opened_at))
        for d in found
    ]  # fmt: skip
    columns = ["!letter", "event", ">position", "state", "by", ">attempts", "since"]
    call.answer_each(found, table(columns, rows) if rows else "It has given up nothing.")


@group.command()
def redeliver(
    context: typer.Context,
    name: NameArgument,
    letter: LetterArgument,
    reason: ReasonOption = None,
    idempotency_key: KeyOption = None,
) -> None:
    """The cause is gone: send the event once more."""
    call = call_of(context)
    resolved = call.client.redeliver_event(name, letter, reason=reason, idempotency_key=idempotency_key)
    call.answer(resolved, "It is sent once more; where that fails, there is a new dead letter.")


@group.command()
def ignore(
    context: typer.Context,
    name: NameArgument,
    letter: LetterArgument,
    reason: NeededReason,
    idempotency_key: KeyOption = None,
) -> None:
    """Decide that the event is not sent any more."""
    call = call_of(context)
    resolved = call.client.ignore_event(name, letter, reason=reason, idempotency_key=idempotency_key)
    call.answer(resolved, "It is not sent any more.")


def _waiting_table(most: int, found: list[WaitingEvent], title: str | None = None) -> Any:
    rows = [
        (w.event, w.type, w.group_key or "", w.code or "", f"{w.attempts} of {most}", w.tries,
         moment(w.first_failed_at) if w.first_failed_at else "",
         "given up by hand" if w.give_up_seq is not None else moment(w.next_attempt_at))
        for w in found
    ]  # fmt: skip
    columns = ["!event", "type", "group", "answered", ">count", ">tries", "fails since", "tried again"]
    return table(columns, rows, title=title)


def _start(given: str) -> Any:
    if given.isdecimal():
        return int(given)
    if given not in ("now", "beginning"):
        raise InvalidRequest(f"--start {given!r} is no place to begin.", "Give now, beginning, or a position.")
    return given


def _tell_defined(call: Call, made: Defined) -> None:
    told = [f"{made.subscription.name}: {euid.format_euid(euid.SUBSCRIPTION, made.subscription.uid)}"]
    if made.key is not None:
        told += ["Its events are signed with this key, which is not shown again:", f"    {made.key.text}"]
    elif made.shown is not None:
        told += [f"It was asked for before: key {made.shown} was shown then. Where nobody has it: rotate the key anew."]
    call.answer(made, *told)


def _where(standing: SubscriptionStanding) -> str:
    return wording.where(standing.subscription.spec.destination)


def _status(standing: SubscriptionStanding) -> str:
    with_ = f": {standing.failing_with}" if standing.subscription.enabled and standing.failures else ""
    return f"{wording.status(standing)}{with_}"


def _shown(standing: SubscriptionStanding) -> dict[str, Any]:
    spec = standing.subscription.spec
    waits = "threads that wait" if spec.group_by == "thread" else "groups that wait"
    shown: dict[str, Any] = {
        "subscription": f"{spec.name}, for {spec.actor}", "to": getattr(spec.destination, "url", _where(standing)),
        "wants": wording.wants(standing),
        "status": _status(standing), "led by": standing.leader or "nobody",
        "position": f"{standing.position}, {standing.behind:,} behind the newest", "delivered": f"{standing.delivered:,}",
        "attempts that failed": f"{standing.failed:,}", waits: standing.parked,
        "given up": standing.open_dead_letters, "signing keys": ", ".join(map(str, standing.keys)) or "none",
    }  # fmt: skip
    if standing.oldest_at:
        shown["oldest unsent"] = (
            f"{age((standing.at - standing.oldest_at).total_seconds())}, of {moment(standing.oldest_at)}"
        )
    if standing.failing_since:
        shown["receiver away since"] = moment(standing.failing_since)
    if standing.resume_at:
        shown["tried again"] = moment(standing.resume_at)
    return shown
