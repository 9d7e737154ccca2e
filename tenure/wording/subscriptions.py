"""How a subscription stands, in words: one for the terminal and the screens."""

from __future__ import annotations

from tenure.ledger.rows import SubscriptionStanding
from tenure.model.subscription import Destination, WorkflowTrigger


def where(destination: Destination) -> str:
    """Where events go; of a URL what may be told, since its path may be a secret."""
    if isinstance(destination, WorkflowTrigger):
        return f"workflow {destination.workflow}"
    return getattr(destination, "origin", None) or getattr(destination, "name", None) or destination.kind


def status(standing: SubscriptionStanding) -> str:
    """``rests``, ``receiver away``, ``no relay`` or ``delivers``."""
    if not standing.subscription.enabled:
        return "rests"
    if standing.failures:
        return "receiver away"
    return "delivers" if standing.leader else "no relay"


def wants(standing: SubscriptionStanding) -> str:
    """Which events are its own."""
    chosen = standing.subscription.spec.filter.model_dump()
    return "; ".join(f"{name} {', '.join(given)}" for name, given in chosen.items() if given)
