"""Recovery policies: what undoes what (design 02, recovery policy)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.problem import Problem
from tenure.flow.model.shape import Shape
from tenure.flow.model.steps import ChildStep, ExternalStep, HumanStep, TaskStep

_CAN_UNDO = (TaskStep, HumanStep, ExternalStep, ChildStep)


def recovery_problems(definition: WorkflowDefinition, shape: Shape) -> Iterator[Problem]:
    """``compensation_missing``, ``compensation_unused``, ``compensation_loop``, ``compensation_shared``,
    ``compensation_in_flow``, ``compensation_performer``.
    """
    undone: dict[str, list[str]] = defaultdict(list)
    for step in definition.steps:
        undo = getattr(step, "compensate_with", None)
        kind = getattr(step, "recovery", "none")
        if kind == "compensatable" and undo is None:
            yield Problem("compensation_missing", step.name, "compensate_with", "nothing is named that undoes it")
        if undo is not None and kind in ("none", "irreversible"):
            yield Problem(
                "compensation_unused", step.name, "compensate_with", f"with recovery {kind!r} it is never run"
            )
        if undo is not None:
            undone[undo].append(step.name)
    for name, of in undone.items():
        if name not in definition.by_name:
            continue
        step = definition.step(name)
        if len(of) > 1:
            yield Problem("compensation_shared", name, "", f"it undoes {', '.join(of)}: give each a step of its own")
        if getattr(step, "compensate_with", None) is not None:
            yield Problem(
                "compensation_loop", name, "compensate_with", f"it undoes {of[0]!r}, and nothing undoes undoing"
            )
        if not isinstance(step, _CAN_UNDO):
            yield Problem("compensation_performer", name, "performer", f"a {step.performer} step cannot undo anything")
        if step.after or step.routes or step.on_error or shape.incoming[name]:
            yield Problem("compensation_in_flow", name, "", f"it undoes {of[0]!r}, and so has no place in the flow")
