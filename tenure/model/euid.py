"""EUIDs: the public face of a uid (design 01, Identity).

``SX-1T8-4`` would be hard to type; an EUID is ``prefix-BODY`` with BODY the uid in Crockford base32 followed by one
check character over GF(32), which catches every single mistyped character and every swap of two neighbours.
The prefix is for the eye only: nothing is ever decided by it.
"""

from __future__ import annotations

from tenure.model.errors import InvalidEuid

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_VALUE = {c: v for v, c in enumerate(ALPHABET)} | {"O": 0, "I": 1, "L": 1}
_MAX_UID = 2**63 - 1

SUBJECT = "SX"
LEASE = "LX"
RECORD = "RX"
QUEUE = "QX"
WORKER = "WX"
HOLD = "HX"
DEAD_LETTER = "DX"
TENANT = "TX"
TEMPLATE = "PX"
RUN = "FX"
WORKFLOW = "VX"
SCHEDULE = "CX"
SUBSCRIPTION = "BX"
EVENT_DEAD_LETTER = "EX"
NODE = "NX"
SUBMISSION = "JX"
PRINCIPAL = "UX"
ACCESS_TOKEN = "KX"  # noqa: S105 # nosec B105


def _double(value: int) -> int:
    """Multiply by x in GF(32) with the polynomial x^5 + x^2 + 1."""
    value <<= 1
    return value ^ 0b100101 if value & 0b100000 else value


def _check(body: str) -> str:
    interim = 0
    for char in body:
        interim = _double(interim ^ _VALUE[char])
    return ALPHABET[interim]


def format_euid(prefix: str, uid: int) -> str:
    """The EUID of ``uid``, e.g. ``SX-1T8Z``."""
    digits = ""
    rest = uid
    while rest:
        rest, digit = divmod(rest, 32)
        digits = ALPHABET[digit] + digits
    digits = digits or "0"
    return f"{prefix}-{digits}{_check(digits)}"


def parse_euid(text: str) -> int:
    """The uid behind an EUID, whatever its prefix; a mistyped one raises ``InvalidEuid``."""
    if not isinstance(text, str):
        raise InvalidEuid(f"An EUID is text, not {type(text).__name__}.", "Give it as it is printed, e.g. SX-1T8Z.")
    body = text.strip().upper().rpartition("-")[2]
    if len(body) < 2 or len(body) > 15 or "-" not in text or any(c not in _VALUE for c in body):
        raise InvalidEuid(f"{text!r} is not an EUID.", "An EUID is a prefix, a dash and base32 characters: SX-1T8Z.")
    canonical = "".join(ALPHABET[_VALUE[c]] for c in body)
    digits, check = canonical[:-1], canonical[-1]
    if _check(digits) != check:
        raise InvalidEuid(
            f"{text!r} has a wrong check character.", "One character was mistyped: compare it with the label."
        )
    uid = 0
    for char in digits:
        uid = uid * 32 + _VALUE[char]
    if uid == 0 or uid > _MAX_UID:
        raise InvalidEuid(f"{text!r} is out of range.", "No object can have this identifier.")
    return uid
