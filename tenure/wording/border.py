"""What crossed the border of a submission, in words: one for the terminal and the screens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenure.model import fact_types as ft

_KINDS = {ft.SUBMISSION_ACCEPTED: "submitted", ft.EVENT_RECEIVED: "event", ft.PROJECTION_UPDATED: "told"}


def kind(type_: str) -> str:
    """What sort of thing a fact of a submission is: ``submitted``, an ``event`` of the node, ``told`` to the product."""
    return _KINDS.get(type_, type_)


def sentence(type_: str, data: Mapping[str, Any]) -> str:
    """What it says, in one phrase."""
    if type_ == ft.PROJECTION_UPDATED:
        return f"{data['projection_state']}: {data.get('display_message', '')}"
    if type_ == ft.EVENT_RECEIVED:
        kept = "" if data.get("applied") else " (kept: the submission had gone on without it)"
        left = data.get("result_ref") or {}
        output = f", output at {left['output_uri']}" if left else ""
        return f"execution {data['number']} {data['state']}{kept}{output}"
    return f"job {data.get('job_id', '')} for {data.get('node', '')}"
