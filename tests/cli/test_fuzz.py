"""Whatever is typed: an exit status of those that are documented, and never a stack trace."""

import json

from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

ANYTHING = st.text(alphabet=st.characters(), max_size=60)
EUIDS = st.one_of(
    ANYTHING,
    st.from_regex(r"\A(SX|LX|HX)-[0-9A-Za-z]{1,16}\Z"),
    st.integers(-(10**25), 10**25).map(str),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4), max_leaves=12,
)  # fmt: skip
DOCUMENTS = st.one_of(ANYTHING, st.dictionaries(st.text(max_size=8), VALUES, max_size=4).map(json.dumps))
# Without the explaining phase, which traces every line and makes each example take a second.
PHASES = [Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink]
FUZZ = settings(
    max_examples=25, deadline=None, phases=PHASES, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def _answers(answer):
    assert answer.code in (0, 1, 2), answer.err
    assert "Traceback" not in answer.err
    assert "internal_error" not in answer.err
    assert answer.code == 0 or answer.err


@FUZZ
@given(text=EUIDS)
@example(text="SX-\ud800")
def test_any_text_for_an_euid(tenure, submitted, text):
    _answers(tenure("subject", "show", "--", text))
    _answers(tenure("lease", "show", "--", text))


@FUZZ
@given(text=DOCUMENTS)
@example(text='{"a": 1e999}')
@example(text='{"a": ' + "9" * 5000 + "}")
@example(text='{"\\ud800": 1}')
def test_any_text_for_properties(tenure, submitted, text):
    _answers(tenure("subject", "submit", "--queue", "thumbs", f"--properties={text}"))


@FUZZ
@given(ref=ANYTHING, name=ANYTHING, at=ANYTHING)
def test_any_text_for_references_names_and_times(tenure, submitted, ref, name, at):
    _answers(tenure("subject", "submit", "--queue", "thumbs", f"--ref={ref}", f"--name={name}"))
    _answers(tenure("subject", "show", f"--ref={ref}"))
    _answers(tenure("subject", "requeue", "--ref=R-1", f"--ready-at={at}"))


@FUZZ
@given(policy=DOCUMENTS)
def test_any_text_for_a_policy(tenure, submitted, policy):
    _answers(tenure("queue", "define", "fuzzed", f"--policy={policy}"))
