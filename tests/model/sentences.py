"""What is told to people is told in sentences."""

from __future__ import annotations

import re

#: A full stop, or a colon and what somebody else said, ends one.
_END = r".*(?:[.…]|: .*)"
_MESSAGE = re.compile(r"""(?:['"]|[A-Z][a-z ]|\d+ |[a-z])""" + _END, re.DOTALL)
_ADVICE = re.compile(r"(?:[A-Z][a-z ]|[A-Z]+ [a-z])" + _END, re.DOTALL)


def is_message(text: object) -> bool:
    """True for what happened: a sentence, which may begin with the name of a field or a value."""
    return isinstance(text, str) and _MESSAGE.fullmatch(text) is not None


def is_advice(text: object) -> bool:
    """True for what to do next: a sentence."""
    return isinstance(text, str) and _ADVICE.fullmatch(text) is not None
