"""Principals: who acts, with which roles, and the access tokens that prove it (design 06, HTTP API; S1 section 10.4)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from tenure.model.requests import ShortText, Text
from tenure.model.roles import Permission, Role, demand, permissions_of

PrincipalName = Annotated[
    str, StringConstraints(pattern=r"^(user|service|agent):[A-Za-z0-9][A-Za-z0-9_.@+-]*$", max_length=200)
]
"""How a principal is named wherever it acts: ``user:ada``, ``service:importer``, ``agent:cluster-1``."""


class PrincipalStatus(StrEnum):
    """Whether a principal may act."""

    ACTIVE = "ACTIVE"
    DISABLED = "DISABLED"


class Principal(BaseModel):
    """Who acts. Its name is the ``actor`` of the facts that its actions append."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    uid: int
    tenant: int
    name: PrincipalName
    display_name: str = ""
    roles: tuple[Role, ...] = ()
    status: PrincipalStatus = PrincipalStatus.ACTIVE
    oidc_issuer: str | None = None
    oidc_subject: str | None = None
    has_password: bool = False
    revision: int = 1
    seq: int = 0
    created_at: AwareDatetime | None = None


class TokenKind(StrEnum):
    """What an access token is for: programs, or the browser session of a person."""

    API = "API"
    SESSION = "SESSION"


class AccessToken(BaseModel):
    """A credential of a principal as it is kept: without what it is proved with, of which only a SHA-256 is stored."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    uid: int
    tenant: int
    principal: int
    kind: TokenKind = TokenKind.API
    label: str = ""
    roles: tuple[Role, ...] | None = None
    """A subset of its principal's roles, or None for all of them."""
    created_at: AwareDatetime
    expires_at: AwareDatetime
    revoked_at: AwareDatetime | None = None
    last_used_at: AwareDatetime | None = None

    def usable(self, now: datetime) -> bool:
        """Whether it still proves anything."""
        return self.revoked_at is None and now < self.expires_at


def _each_once(roles: tuple[Role, ...]) -> tuple[Role, ...]:
    return tuple(sorted(set(roles)))


Roles = Annotated[tuple[Role, ...], AfterValidator(_each_once)]
TokenLabel = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00-\x1f]*$")]
TokenLifetime = Annotated[int, Field(ge=60, le=10 * 366 * 86400, description="Seconds: a minute to ten years.")]
DisplayName = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00-\x1f]*$")]


class PrincipalSpec(BaseModel):
    """What is said of a principal when it is created."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: PrincipalName = Field(examples=["service:importer"])
    display_name: DisplayName = ""
    roles: Roles = Field((), description="What it may do.")
    oidc_issuer: ShortText | None = None
    oidc_subject: ShortText | None = None
    reason: Text | None = None

    @model_validator(mode="after")
    def _both(self) -> PrincipalSpec:
        if (self.oidc_issuer is None) != (self.oidc_subject is None):
            raise ValueError("oidc_issuer and oidc_subject belong together")
        return self


class PrincipalChange(BaseModel):
    """What becomes different of a principal; None leaves a field as it is. The name, which facts carry, never changes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    display_name: DisplayName | None = None
    roles: Roles | None = None
    status: PrincipalStatus | None = None
    oidc_issuer: ShortText | None = None
    oidc_subject: ShortText | None = None
    reason: Text | None = None
    expected_revision: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _both(self) -> PrincipalChange:
        if (self.oidc_issuer is None) != (self.oidc_subject is None):
            raise ValueError("oidc_issuer and oidc_subject belong together")
        return self

    def changes(self) -> dict[str, Any]:
        """The fields that are given."""
        names = ("display_name", "roles", "status", "oidc_issuer", "oidc_subject")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class AccessTokenSpec(BaseModel):
    """What is asked for when an access token is made. A session lasts hours, a token of a program months."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: TokenKind = TokenKind.API
    label: TokenLabel = ""
    roles: Roles | None = Field(None, description="A subset of the principal's roles; None for all, also later ones.")
    lifetime_seconds: TokenLifetime = 90 * 86400


@dataclass(frozen=True)
class Identity:
    """Who asks, proved: the principal, its tenant, and the roles that its credential carries."""

    principal: Principal
    tenant_key: str
    roles: frozenset[Role]
    token: AccessToken | None = None

    @cached_property
    def permissions(self) -> frozenset[Permission]:
        """What its roles permit."""
        return permissions_of(self.roles)

    def demand(self, permission: Permission) -> None:
        """``Forbidden`` where it may not."""
        demand(permission, self.permissions)

    @property
    def tenant(self) -> int:
        """The uid of its tenant."""
        return self.principal.tenant

    @property
    def actor(self) -> str:
        """Its name in facts."""
        return self.principal.name
