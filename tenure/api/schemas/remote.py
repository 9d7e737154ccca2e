"""Management nodes and submissions in requests and answers (S5; design 04)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from tenure.api.schemas.guards import KeyedBody
from tenure.model.principal import PrincipalName
from tenure.model.requests import Text
from tenure.remote.model.node import NodeSpec

_QUEUES: Any = {"normal": {"partition": "cpu", "account": "lab", "max_walltime_seconds": 86400}}
MOST_EVENTS = 500


class NodeBody(NodeSpec):
    """A management node as it is to be."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"queues": _QUEUES}]})

    principal: PrincipalName | None = Field(
        None, description="Who may poll and report for it, and for no other. Left out: `agent:NODE`, made where it is missing.",
        examples=["agent:cluster-1"],
    )  # fmt: skip

    def spec(self) -> NodeSpec:
        """The definition without the principal."""
        return NodeSpec.model_validate(self.model_dump(exclude={"principal"}))


class CancelSubmissionBody(KeyedBody):
    """Take a submission back."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "the input was wrong"}]})

    reason: Text | None = None


#: Each is read by itself, so that one that is wrong leaves the others alone.
_Event = Annotated[Any, WithJsonSchema({"$ref": "#/components/schemas/ExecutionEvent"})]


class EventsBody(BaseModel):
    """Events in the order in which they happened."""

    model_config = ConfigDict(extra="forbid")

    events: Annotated[list[_Event], Field(min_length=1, max_length=MOST_EVENTS)]
