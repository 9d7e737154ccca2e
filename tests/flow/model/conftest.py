"""For every test of the pure half of workflows: whatever is refused is told in sentences."""

from __future__ import annotations

from tests.model.conftest import every_refusal_says_what_happened_and_what_to_do

__all__ = ["every_refusal_says_what_happened_and_what_to_do"]
