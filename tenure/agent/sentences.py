"""What a node says in words, as the contract takes it: of whatever it is made, it can be written down and sent."""

from __future__ import annotations

from pydantic import ValidationError

from tenure.agent.uris import without_secrets
from tenure.remote.model.fields import Failure

#: As ``Sentence`` of the contract has it.
_LONGEST = 2000
_MORE = "..."


def sentence(text: str) -> str:
    """The text without NUL, with bytes that are no characters as escapes, and cut where it is too long."""
    clean = text.replace("\0", "").encode("utf-8", "backslashreplace").decode()
    return clean if len(clean) <= _LONGEST else clean[: _LONGEST - len(_MORE)] + _MORE


def sentence_if_any(text: str | None) -> str | None:
    """The same of what may have nothing to say."""
    return sentence(text) if text else None


def failure_with(*, code: str, message: str, retryable: bool) -> Failure:
    """A failure that can be told, whoever's words its message has."""
    return Failure(code=code, message=sentence(message), retryable=retryable)


def reason_of(error: BaseException, *uris: str) -> str:
    """An error in one line: its kind, and what it says, without the values and what opens ``uris``."""
    if isinstance(error, ValidationError):
        said = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
    else:
        said = without_secrets(str(error), *uris)
    return " ".join(f"{type(error).__name__}: {said}".split()).removesuffix(":")
