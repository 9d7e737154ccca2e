"""What every action may carry: the key that makes it idempotent, and the guards (S1 sections 7.2, 7.3 and 7.5)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Header
from pydantic import BaseModel, ConfigDict, Field

from tenure.model.errors import InvalidRequest
from tenure.model.requests import ShortText
from tenure.model.states import State

IdempotencyKeyHeader = Annotated[
    ShortText | None,
    Header(alias="Idempotency-Key", description="Makes the action idempotent: sent again with the same key, it is answered "
           "from before. The same as `idempotency_key` in the body.", examples=["req-123"]),
]  # fmt: skip


class KeyedBody(BaseModel):
    """A body that may carry the idempotency key."""

    model_config = ConfigDict(extra="forbid")

    idempotency_key: ShortText | None = Field(
        None, description="The same as the header Idempotency-Key; give one of them.", examples=["req-123"]
    )

    def keyed(self, header: str | None) -> str | None:
        """The idempotency key of the request. Raises InvalidRequest where header and body differ."""
        if header is not None and self.idempotency_key not in (None, header):
            raise InvalidRequest(
                "Idempotency-Key: the header and the body's idempotency_key differ.", "Give one of them, or the same in both."
            )  # fmt: skip
        return header if header is not None else self.idempotency_key

    def given(self, *apart: str) -> dict[str, Any]:
        """What the request says, by field, without what is left out and without ``apart``."""
        names = self.model_fields_set - {"idempotency_key", *apart}
        return {name: getattr(self, name) for name in type(self).model_fields if name in names}


class GuardedBody(KeyedBody):
    """A body that may carry guards, too: where they do not hold, nothing is changed."""

    expected_state: State | None = Field(None, description="The state that the subject must be in.", examples=["READY"])
    expected_revision: int | None = Field(
        None, ge=1, lt=2**31, description="The revision that it must have.", examples=[1]
    )
    expected_seq: int | None = Field(
        None, ge=0, lt=2**31, description="The length that its thread must have.", examples=[1]
    )
