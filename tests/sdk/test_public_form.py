"""Only Tenure's own numbers become EUIDs: what users gave comes back as it was."""

from __future__ import annotations

import pytest

from tenure.model.euid import format_euid
from tenure.sdk.public_form import public

THEIRS = {"subject": 7, "worker": [1, 2], "lease": {"tenant": 3, "hold": None}, "outputs": [4], "run": 5, "uid": 6}


def test_properties_and_results_come_back_as_they_were_given(app) -> None:
    made = app.submit(queue_key="q", properties=THEIRS)
    worker = app.register_worker("w")
    (lease,) = app.claim(worker, "q", start=True)
    app.complete(lease, result=THEIRS)

    shown = public(app.inspect(made.subject))
    (done,) = public(app.history(made.subject))["attempts"]

    assert shown["subject"]["properties"] == THEIRS
    assert shown["subject"]["euid"] == format_euid("SX", made.subject)
    assert (done["attempt"]["worker"], done["result"]) == (format_euid("WX", worker.uid), THEIRS)


@pytest.mark.parametrize("name", ["properties", "result", "input", "output", "value", "schema", "definition"])
def test_what_users_own_is_shown_as_it_is_wherever_it_stands(name: str) -> None:
    assert public({name: THEIRS, "subject": 7}) == {name: THEIRS, "subject": format_euid("SX", 7)}
    assert public([{name: [THEIRS]}]) == [{name: [THEIRS]}]
