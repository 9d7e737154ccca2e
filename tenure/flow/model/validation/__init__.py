"""Whole validation of a definition: every complaint at once, each naming its step (design 02, Model)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.problem import Problem, refuse
from tenure.flow.model.shape import build_shape
from tenure.flow.model.validation.details import detail_problems
from tenure.flow.model.validation.flow import flow_problems
from tenure.flow.model.validation.names import name_problems
from tenure.flow.model.validation.outputs import output_problems
from tenure.flow.model.validation.recovery import recovery_problems

SchemaCheck = Callable[[dict[str, Any]], str | None]
"""Says what is wrong with a JSON Schema, or None."""


def problems_of(definition: WorkflowDefinition, schema_check: SchemaCheck | None = None) -> list[Problem]:
    """Everything that keeps the definition from running, in order of steps; ``schema_check`` judges JSON Schemas whole."""
    return list(_problems(definition, schema_check))


def check(definition: WorkflowDefinition, schema_check: SchemaCheck | None = None) -> WorkflowDefinition:
    """The definition itself, or ``InvalidDefinition`` with every problem as evidence."""
    if problems := problems_of(definition, schema_check):
        raise refuse(problems, definition.name)
    return definition


def _problems(definition: WorkflowDefinition, schema_check: SchemaCheck | None) -> Iterator[Problem]:
    names = list(name_problems(definition))
    yield from names
    yield from detail_problems(definition, schema_check)
    shape = build_shape(definition)
    yield from recovery_problems(definition, shape)
    if names:
        return  # what follows reads the graph, and the graph of wrong names says nothing
    flow = list(flow_problems(definition, shape))
    yield from flow
    if not flow:
        yield from output_problems(definition, shape)
