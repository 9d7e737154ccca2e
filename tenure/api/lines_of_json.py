"""Lines of a body that is read as it comes, and never kept whole."""

from __future__ import annotations

from collections.abc import AsyncIterator

from tenure.api.body_limit import too_large
from tenure.model.errors import TenureError


async def lines_of(chunks: AsyncIterator[bytes], longest: int) -> AsyncIterator[bytes | TenureError]:
    """The lines without their ends, empty ones included; an error in place of one that is longer than ``longest`` bytes."""
    begun = bytearray()
    skipping = False
    async for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            if skipping or len(begun) + len(part) > longest:
                yield too_large(longest, "The line")
            else:
                yield bytes(begun + part).removesuffix(b"\r")
            begun.clear()
            skipping = False
        if not skipping and len(begun) + len(rest) <= longest:
            begun += rest
        else:
            begun.clear()
            skipping = True
    if skipping:
        yield too_large(longest, "The line")
    elif begun:
        yield bytes(begun)
