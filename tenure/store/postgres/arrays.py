"""Long arrays of uids as parameters: packed in one go, not number by number."""

from __future__ import annotations

import struct

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

_INT8, _INT8_ARRAY, _WIDTH = 20, 1016, 8


class Uids(list[int]):
    """A list that is sent as ``bigint[]``."""


class _Packed(Dumper):
    format = Format.BINARY
    oid = _INT8_ARRAY

    def dump(self, obj: list[int]) -> bytes:
        count = len(obj)
        if not count:
            return struct.pack("!iii", 0, 0, _INT8)
        flat = [_WIDTH] * (2 * count)
        flat[1::2] = obj
        return struct.pack(f"!iiiii{'iq' * count}", 1, 0, _INT8, count, 1, *flat)


psycopg.adapters.register_dumper(Uids, _Packed)
