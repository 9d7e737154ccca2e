"""An action as a person meets it: a form that asks for the reason, then the deed, then the fact that proves it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tenure.model.roles import Permission, roles_with
from tenure.ui.visitor import Visitor

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """One thing that a form asks. ``kind``: text, long, json, number, time, choice, check."""

    name: str
    label: str
    kind: str = "text"
    required: bool = False
    value: Any = None
    options: tuple[tuple[str, str], ...] = ()
    hint: str = ""
    placeholder: str = ""
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """What was done, in a sentence, and where its fact stands."""

    text: str
    href: str | None = None
    link: str = "See the fact"
    once: str | None = None
    """What is shown this once, until the person closes the dialog: a secret."""
    refused: tuple[str, ...] = ()
    """Of an action on several things: what was refused, one sentence each."""


@dataclass(frozen=True, slots=True)
class Action:
    """A form and its deed. ``perform`` gets the values and the idempotency key of this dialog."""

    title: str
    submit: str
    perform: Callable[[Values, str], Awaitable[Done]]
    about: str = ""
    says: str = ""
    fields: tuple[Field, ...] = field(default_factory=tuple)
    tone: str | None = None


def reason(*, required: bool = True, hint: str = "It is kept as evidence with your name.") -> Field:
    """The field for the reason."""
    return Field("reason", "Reason", "long", required, hint=hint, missing="A reason is needed: it is kept as evidence.")


def button(
    visitor: Visitor, name: str, label: str, permission: Permission, *, unless: str | None = None,
    tone: str | None = None, letter: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """A button for an action; disabled with the reason where the role does not permit it or ``unless`` says why not."""
    refused = unless
    if not visitor.may(permission):
        refused = f"Needs one of the roles {', '.join(roles_with(permission))}."
    return {"name": name, "label": label, "tone": tone, "letter": letter, "refused": refused}


def given(values: Values, name: str) -> str | None:
    """What was typed into a field, or None where it was left empty."""
    text = str(values.get(name) or "").strip()
    return text or None
