"""The registry of fact types (S4 section 6.1)."""

from __future__ import annotations

import jsonschema
import pytest

from tenure.model import fact_types as ft
from tenure.model.transitions import Action
from tests.model.scene import A, B, Scene

DOMAINS = {"execution", "queue", "worker", "governance", "flow", "remote", "system"}
STREAMS = {"comment", "review", "update", "birth", "task", "alert", "health"}


@pytest.mark.parametrize("fact_type", ft.REGISTRY.values(), ids=lambda t: t.type)
def test_types_use_the_words_of_the_law(fact_type: ft.FactType) -> None:
    assert fact_type.domain in DOMAINS
    assert fact_type.stream in STREAMS
    assert fact_type.lane in {"immediate", "delayed"}
    assert fact_type.severity in {None, "info", "warning", "critical"}
    assert fact_type.classification in {"safe_metadata", "restricted"}
    jsonschema.Draft202012Validator.check_schema(fact_type.schema)


def test_alerts_and_nothing_else_have_a_severity() -> None:
    assert {t.type for t in ft.REGISTRY.values() if t.severity} == {
        t.type for t in ft.REGISTRY.values() if t.stream == "alert"
    }


def test_every_action_on_a_subject_has_a_fact_that_tells_of_it() -> None:
    assert {str(a) for a in Action} <= {t.action for t in ft.REGISTRY.values()}


def every_kind_of_fact() -> Scene:
    scene = Scene(max_attempts=2)
    scene.claim(start=False)
    scene.start()
    scene.renew()
    scene.dispatch(external_ref="slurm:1")
    scene.requeue(reason="reconciled")
    scene.claim(B)
    scene.release(B)
    scene.claim(B)
    scene.defer(B, until=scene.now)
    scene.claim(A)
    scene.fail(A, error_code="E1")
    scene.wait(10).claim(B)
    scene.wait(60).expire(B)
    scene.resolve()
    scene.requeue(reopen=True)
    scene.hold()
    scene.release_hold(reason="looked at")
    scene.claim(A)
    scene.complete(A, outputs=(7,))
    scene.requeue(reopen=True)
    scene.cancel(reason="enough")
    return scene


def test_what_decisions_append_is_of_the_registered_shape() -> None:
    facts = every_kind_of_fact().facts
    for fact in facts:
        jsonschema.validate(dict(fact.data) if fact.data is not None else None, ft.REGISTRY[fact.type].schema)
    told = {fact.type for fact in facts}
    assert told == {t.type for t in ft.REGISTRY.values() if t.domain == "execution"}
