"""Principals and access tokens in requests and answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema

from tenure.api.schemas.fields import PrincipalName, Revision, Seq, TenantName
from tenure.model import euid
from tenure.model.principal import PrincipalStatus, Roles, TokenKind, TokenLabel, TokenLifetime
from tenure.model.roles import Role

_NAME = "user:ada"
_DESCRIBED = WithJsonSchema({
    "type": "string", "format": "euid", "pattern": "^[A-Za-z]{2}-[0-9A-Za-z]{2,15}$", "maxLength": 18,
    "description": "The EUID of an access token.", "examples": [euid.format_euid(euid.ACCESS_TOKEN, 1_000_002)],
})  # fmt: skip
AccessTokenEuid = Annotated[int, BeforeValidator(euid.parse_euid), _DESCRIBED]
AccessTokenName = Annotated[str, _DESCRIBED]
PrincipalReference = Annotated[
    str, StringConstraints(min_length=4, max_length=200, pattern=r"^[A-Za-z0-9_.:@+-]+$"),
    Field(description="A principal, by name or EUID.", examples=[_NAME]),
]  # fmt: skip

_PRINCIPAL: dict[str, Any] = {
    "euid": "UX-YGJ24", "tenant": "TX-16JH", "name": _NAME, "display_name": "Ada Lovelace", "roles": ["operator"],
    "status": "ACTIVE", "oidc_issuer": None, "oidc_subject": None, "has_password": True, "revision": 2, "seq": 4,  # nosec B105
    "created_at": "2026-03-01T12:00:00.000000+00:00",
}  # fmt: skip
_TOKEN: dict[str, Any] = {
    "euid": "KX-YGJ24", "tenant": "TX-16JH", "principal": "UX-YGJ24", "kind": "API", "label": "laptop", "roles": None,
    "created_at": "2026-03-01T12:00:00.000000+00:00", "expires_at": "2026-05-30T12:00:00.000000+00:00",
    "revoked_at": None, "last_used_at": None,
}  # fmt: skip


class PrincipalShown(BaseModel):
    """Who acts. Its name is the actor of the facts that its actions append."""

    model_config = ConfigDict(json_schema_extra={"examples": [_PRINCIPAL]})

    euid: PrincipalName
    tenant: TenantName
    name: str
    display_name: str
    roles: list[Role]
    status: PrincipalStatus
    oidc_issuer: str | None
    oidc_subject: str | None
    has_password: bool
    revision: Revision
    seq: Seq
    created_at: datetime | None


class AccessTokenShown(BaseModel):
    """A credential of a principal, without its secret."""

    model_config = ConfigDict(json_schema_extra={"examples": [_TOKEN]})

    euid: AccessTokenName
    tenant: TenantName
    principal: PrincipalName
    kind: TokenKind
    label: str
    roles: list[Role] | None = Field(description="A subset of its principal's; null for all of them.")
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To the minute.")


class IssuedToken(BaseModel):
    """A new access token with its secret, which is shown this once."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"access_token": _TOKEN, "secret": "tenure_6gXbq0nUe1YF0rJcRzq2b8kB8nZ4nU0"}]}  # nosec B105
    )

    access_token: AccessTokenShown
    secret: str = Field(description="Send it as Authorization: Bearer SECRET. It is kept nowhere.")


class CreateTokenBody(BaseModel):
    """Create an access token for a program of a principal."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"principal": "service:importer", "label": "nightly import"}]}
    )

    principal: PrincipalReference
    label: TokenLabel = ""
    roles: Roles | None = Field(None, description="A subset of the principal's roles; null for all, also later ones.")
    lifetime_seconds: TokenLifetime = 90 * 86400

    def spec(self) -> dict[str, Any]:
        """What is asked of the token."""
        return self.model_dump(exclude={"principal"})


class PasswordBody(BaseModel):
    """Set the password of a principal."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"password": "several words in a row"}]})  # nosec B105

    password: Annotated[str, StringConstraints(min_length=12, max_length=1000, pattern=r"^[^\x00]*$")]
