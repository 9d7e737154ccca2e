"""The agent's log: lines for people, and one line of JSON with the contract's fields for each event (S5, Observability)."""

from __future__ import annotations

import json
import logging

from tenure.agent.execution import Execution

#: Lines for people.
LOG = logging.getLogger("tenure.agent")
#: One JSON document a line: what became of an event that was sent.
EVENTS = logging.getLogger("tenure.agent.event")
FIELDS = ("trace_id", "tenant_id", "job_id", "submission_id", "execution_id", "event_id", "state")


def tell(execution: Execution, text: str, *values: object, level: int = logging.INFO) -> None:
    """A line about an execution."""
    work, said = execution.work, text % values if values else text
    LOG.log(level, "Execution %s (submission %s, job %s) %s", work.execution_id, work.submission_id, work.job_id, said)


def tell_defect(error: Exception, text: str, *values: object) -> None:
    """A line with where in the program it happened. What the error says stands in the text already, as it may be shown."""
    said = text % values
    LOG.error("%s", said, exc_info=(RuntimeError, RuntimeError(said), error.__traceback__))


def tell_event(body: str, outcome: str, said: str, level: int = logging.INFO) -> None:
    """The line of an event that was sent, with its seven fields."""
    if EVENTS.isEnabledFor(level):
        event = json.loads(body)
        line = {"event": "execution_event", "outcome": outcome, **{name: event.get(name) for name in FIELDS}}
        EVENTS.log(level, json.dumps(line | ({"said": said} if said else {}), ensure_ascii=False))
