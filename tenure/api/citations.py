"""Descriptions without the sections that they implement: those are for people who build Tenure, not for those who use it."""

from __future__ import annotations

import re
from typing import Any

_CITATION = re.compile(r"[;,]? ?\((?:S[1-5]|design \d\d)\b[^)]*\)")


def without_citations(document: Any) -> Any:
    """A document of JSON whose descriptions, at any depth, name no section of a specification any more."""
    if isinstance(document, list):
        return [without_citations(each) for each in document]
    if not isinstance(document, dict):
        return document
    return {
        name: _CITATION.sub("", value) if name == "description" and isinstance(value, str) else without_citations(value)
        for name, value in document.items()
    }
