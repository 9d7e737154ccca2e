"""What ``sbatch`` said: it has the job, it will never take it, it did not take it now, or nobody knows.

Only its words count, not its exit status, which is lost when the agent that waited for it was killed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from tenure.agent.sentences import failure_with
from tenure.agent.slurm.command import last_words
from tenure.remote.model.fields import Failure

REJECTED = "SUBMISSION_REJECTED"
"""The failure code of a job that Slurm will never take."""


class Outcome(StrEnum):
    """What became of an ``sbatch``."""

    TAKEN = "taken"
    REFUSED = "refused"
    NOT_TAKEN = "not taken"
    """The controller was not reached, or said that it takes nothing now. The same may be submitted again."""
    UNKNOWN = "unknown"
    """The job may be there, now or in a moment."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An outcome, with the job's number where it was taken, and else with the reason."""

    outcome: Outcome
    job_id: str = ""
    why: str = ""

    @property
    def failure(self) -> Failure:
        """What a refusal means for the execution."""
        return failure_with(code=REJECTED, message=f"Slurm refused the job: {self.why}", retryable=_passes(self.why))


_ID = re.compile(r"^(\d+)(?:;\S+)?$", re.MULTILINE)
_FATAL = "sbatch: fatal: "
_SAID = re.compile(r"Batch job submission failed: (.+)")
_CLIENT = re.compile(
    r"^sbatch: (?:(?:error|fatal): )?((?:invalid|unrecognized|ambiguous|unknown)\b.*"
    r"|option '.*' (?:requires|doesn't).*|unable to (?:open|read) .*|.* specification .*)$",
    re.MULTILINE | re.IGNORECASE,
)

#: The request never arrived, or was sent back before anything was made of it.
_NOT_NOW = (
    "unable to contact slurm controller", "protocol authentication error", "munge", "configuration source",
    "configuration file", "cannot stat file", "temporarily unable to accept", "in standby", "try again", "incompatible versions",
    "unable to resolve", "connection refused",
)  # fmt: skip
#: The request may have arrived: no answer came.
_NO_ANSWER = (
    "timed out", "zero bytes", "missing socket", "communication", "connection reset", "broken pipe", "unexpected message",
    "header lengths", "transport endpoint", "interrupted", "input/output error",
)  # fmt: skip
#: Limits on how much may be there at once, which pass.
_LIMITS = ("job submit limit", "i/o error writing script")


def read_reply(out: str, error: str) -> Reply:
    """What an ``sbatch --parsable`` that printed this has done."""
    number = _ID.search(out)
    if number is not None:
        return Reply(Outcome.TAKEN, job_id=number[1])
    said = _SAID.search(error)
    words = said[1].strip() if said is not None else last_words(error)
    if any(sign in error.lower() for sign in _NO_ANSWER):
        return Reply(Outcome.UNKNOWN, why=words)
    # Without a last word it was ended while it tried again, and that request may be under way.
    if any(sign in error.lower() for sign in _NOT_NOW) and (said is not None or _FATAL in error):
        return Reply(Outcome.NOT_TAKEN, why=words)
    if said is not None:
        return Reply(Outcome.REFUSED, why=words)
    client = _CLIENT.search(error)
    if client is not None:
        return Reply(Outcome.REFUSED, why=client[1].strip())
    return Reply(Outcome.UNKNOWN, why=words or "sbatch ended without a word")


def _passes(why: str) -> bool:
    return any(sign in why.lower() for sign in _LIMITS)
