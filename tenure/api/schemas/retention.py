"""How long what is no fact is kept, as it is asked for and shown."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from tenure.api.schemas.fields import Seq
from tenure.api.schemas.guards import KeyedBody
from tenure.model.requests import Text
from tenure.model.retention import MOST_DAYS, RetentionKind


class SetRetentionBody(KeyedBody):
    """Keep a kind for so many days."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"kind": "inbox", "days": 180, "reason": "a slow sender"}]}
    )

    kind: RetentionKind
    days: int = Field(
        ge=1, le=MOST_DAYS, description="7 at least for `inbox`: longer than any sender waits to send again."
    )
    reason: Text | None = None


class RetentionShown(BaseModel):
    """How long a kind is kept."""

    kind: RetentionKind = Field(
        description="`inbox`: ids by which messages and events that come again are known. `delivery`: attempts to "
        "deliver that failed."
    )
    days: int = Field(ge=1)
    set_seq: Seq | None = Field(description="The fact of the tenant that said so; none for the default.")
    cleared_until: datetime | None = Field(
        description="What is younger is there still; none where nothing was removed."
    )
    cleared: int = Field(ge=0, description="Rows that were removed in all.")


class RetentionList(BaseModel):
    """All kinds."""

    items: list[RetentionShown]
