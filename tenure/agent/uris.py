"""URIs as they may be shown. Whoever sends one may have put credentials into it: a password, a signature that opens a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>]+")
_USERINFO = re.compile(r"(?<=//)[^/?#]*@")
_REST = re.compile(r"[?#].*", re.DOTALL)
_LONGEST = 500
#: What is shorter is no secret, and stands in too many words.
_SHORTEST_SECRET = 4
_HIDDEN = "***"


def bare(uri: str) -> str:
    """A URI without its userinfo, query and fragment."""
    return _USERINFO.sub("", _REST.sub("", uri))


def shown(uri: str) -> str:
    """The same for people, cut where it is too long to read."""
    uri = bare(uri)
    return uri if len(uri) <= _LONGEST else f"{uri[:_LONGEST]}..."


def without_secrets(text: str, *uris: str) -> str:
    """A text, perhaps a library's: the URIs in it are bare, and what ``uris`` hide stands nowhere else in it, either."""
    text = _URI.sub(lambda found: bare(found[0]), text)
    secrets = {form for uri in uris for secret in _secrets(uri) for form in (secret, unquote(secret))}
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, _HIDDEN)
    return text


def _secrets(uri: str) -> Iterator[str]:
    for found in _USERINFO.findall(_REST.sub("", uri)):
        userinfo = found.removesuffix("@")
        yield from (userinfo, *userinfo.split(":", 1))
    rest = _REST.search(uri)
    for part in re.split("[?#]", rest[0]) if rest else ():
        yield part
        for each in re.split("[&;]", part):
            yield each.partition("=")[2] or each
