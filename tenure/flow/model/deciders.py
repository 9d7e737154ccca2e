"""Who may decide at an approval: the principals and roles that its step names, else whoever may operate (S3, Manual Boundaries)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import StringConstraints

from tenure.model.errors import Forbidden, TenureError
from tenure.model.roles import Permission, Role, demand, permissions_of

if TYPE_CHECKING:
    from tenure.flow.model.definition import WorkflowDefinition

Approver = Annotated[
    str,
    StringConstraints(
        pattern=rf"^((user|service|agent):[A-Za-z0-9][A-Za-z0-9_.@+-]*|{'|'.join(Role)})$", max_length=200, strict=True
    ),
]
"""A principal by name (``user:ada``), or a role (``operator``), whose every holder may decide."""


@dataclass(frozen=True, slots=True)
class Rights:
    """The roles of who decides. A process that is trusted with the database needs none where a step names nobody."""

    roles: frozenset[Role] = frozenset()
    trusted: bool = True


def refusal(step: str, approvers: Sequence[str], actor: str, rights: Rights) -> TenureError | None:
    """Why ``actor`` may not decide at the step, or None; it names who may."""
    if not approvers:
        if rights.trusted:
            return None
        try:
            demand(Permission.OPERATE, permissions_of(rights.roles))
        except Forbidden as error:
            return error
        return None
    if actor in approvers or rights.roles & set(approvers):
        return None
    return Forbidden(
        f"Only {named(approvers)} may decide at {step!r}, and {actor} is not among them.",
        "Let one of them decide, or start the run by a version that names others.",
        step=step, approvers=list(approvers), actor=actor, roles=sorted(rights.roles),
    )  # fmt: skip


def approvers_of(definition: WorkflowDefinition | None, step: str) -> tuple[str, ...]:
    """Whom the step of a definition names; nobody where it is no approval."""
    found = definition.by_name.get(step) if definition is not None else None
    return tuple(getattr(found, "approvers", ()))


def named(approvers: Sequence[str]) -> str:
    """Who may decide, in words: ``user:ada or whoever is operator``."""
    people = [one for one in approvers if ":" in one]
    roles = [one for one in approvers if ":" not in one]
    told = people + ([f"whoever is {' or '.join(roles)}"] if roles else [])
    return " or ".join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)
