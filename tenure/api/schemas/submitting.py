"""What is asked when subjects are created."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AwareDatetime, ConfigDict, Field

from tenure.api.schemas.fields import SubjectEuid
from tenure.api.schemas.guards import KeyedBody
from tenure.model.queue import Key, Tag
from tenure.model.requests import ShortText, SubmitSubject, Text, validated

_EXAMPLE: dict[str, Any] = {
    "queue_key": "extraction", "template": "content/material/specimen/1.0", "name": "plate 7 A1",
    "external_ref": "LIMS-4711", "properties": {"volume_ul": 50}, "priority": 5,
}  # fmt: skip


class SubmitBody(KeyedBody):
    """Create a subject and put it before a queue, or leave it PENDING (``ready`` false)."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    template: Key = Field("task/job/1.0", description="What kind of subject it is.")
    queue_key: Key | None = Field(None, description="The queue that it is for.")
    properties: dict[str, Any] = Field(default_factory=dict, description="Its data, by the schema of its template.")
    name: Text | None = None
    external_ref: ShortText | None = Field(None, description="Your own name for it; unique in the tenant.")
    payload_ref: ShortText | None = Field(None, description="Where a large payload is kept.")
    next_action_key: Key | None = None
    priority: int = Field(0, ge=-32768, le=32767, description="Higher ones first.")
    ready_at: AwareDatetime | None = Field(None, description="Not before.")
    due_at: AwareDatetime | None = Field(None, description="Among equals, what is due first comes first.")
    max_attempts: int | None = Field(None, ge=1, le=32000)
    slots: int = Field(1, ge=1, le=32000, description="How many workers may hold it at once.")
    site: Tag | None = None
    platform: Tag | None = None
    assay: Tag | None = None
    correlation_id: ShortText | None = None
    parent_euids: Annotated[list[SubjectEuid], Field(max_length=1000)] = Field(
        default_factory=list, description="The subjects that it was made of; their lineage leads to it."
    )
    ready: bool = Field(True, description="Whether it may be claimed; else it waits PENDING until it is requeued.")

    def request(self, key: str | None) -> SubmitSubject:
        """The engine's request."""
        given = self.given("parent_euids")
        return validated(SubmitSubject, **given, parents=tuple(self.parent_euids), idempotency_key=key)
