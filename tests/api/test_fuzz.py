"""Every route of the document is fuzzed from its own schema: no 5xx, and every answer is as the document says.

Cases that differ in nothing but another value of one kind at one place are thinned out; ``TENURE_FUZZ=all`` sends them all.
"""

from __future__ import annotations

import os
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from schemathesis.config import SchemathesisConfig
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import CoveragePhaseData, CoverageScenario
from schemathesis.specs.openapi.checks import negative_data_rejection

from tenure.model import euid
from tests.api.conftest import Running, Site
from tests.api.documented import PREFIX, the_document

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

REMOTE = "/api/v1/remote"
#: EUIDs of objects that are there while the fuzzer runs.
_there: list[str] = []


@st.composite
def _euids(draw: st.DrawFn) -> str:
    if _there and draw(st.booleans()):
        return draw(st.sampled_from(_there))
    return euid.format_euid(draw(st.sampled_from(["SX", "LX", "WX"])), draw(st.integers(1, 2**63 - 1)))


schemathesis.openapi.format("euid", _euids())


def _config() -> SchemathesisConfig:
    config = SchemathesisConfig(seed=20260301)
    project = config.projects.get_default()
    project.generation.deterministic = True
    project.generation.max_examples = 3
    project.generation.allow_extra_parameters = False  # headers that nobody asked for are nobody's mistake
    # What a schema cannot say is looked at below, by what the refusal says.
    project.checks.positive_data_acceptance.expected_statuses += ["400", "413", "422"]
    return config


#: Why a request may be refused although its schema allows it: rules that span fields, or that no schema can say.
_BEYOND_SCHEMAS = (
    "invalid_euid", "cursor: ", "Idempotency-Key: ", "as_of needs", "A fact may carry at most", "Text holds a NUL",
    "This cannot be written as JSON", "The schema of ", "invalid_definition", "body.schedule: Value error, a schedule ",
    "body.queues.", "invalid_event", "policy_rejected", "body.subscription", "There is no fact type", "inbox is kept for ",
)  # fmt: skip


@schemathesis.check
def refusals_have_a_reason_beyond_the_schema(
    _: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case
) -> None:
    if case.meta is None or case.meta.generation.mode.is_negative or response.status_code not in (400, 413, 422):
        return
    told = response.json()
    assert f"{told['code']} {told['detail']}".startswith(tuple(_BEYOND_SCHEMAS)) or told["detail"].startswith(
        _BEYOND_SCHEMAS
    ), told


#: At so many routes is each value of a field of one name sent in any case.
_ROUTES = 2


class Kinds:
    """Of the cases that keep or break one rule at one place of a route: the first, and one in five of the others.

    Which ones differs from place to place, so that each wrong type and each method comes up at some.
    """

    def __init__(self) -> None:
        self._seen = Counter[tuple[Any, ...]]()

    def has_enough_of(self, case: schemathesis.Case) -> bool:
        said = case.meta.phase.data if case.meta is not None else None
        if not isinstance(said, CoveragePhaseData) or os.environ.get("TENURE_FUZZ") == "all":
            return False
        # Every method that there is not is refused alike; and a header is read alike wherever it comes.
        rule = None if said.scenario is CoverageScenario.UNSPECIFIED_HTTP_METHOD else said.description
        route = None if said.parameter_location is ParameterLocation.HEADER else case.operation.label
        kind = (route, said.scenario, said.parameter_location, said.parameter, said.location, rule)
        number, self._seen[kind] = self._seen[kind], self._seen[kind] + 1
        # Many routes have the same field (a key, a reason, a lease), which is read alike; and what is in a batch is read as at
        # the route of the action.
        field = (said.scenario, said.parameter_location, rule)
        routes, self._seen[field] = self._seen[field], self._seen[field] + (number == 0)
        first = number == 0 and (route is None or routes < _ROUTES) and not case.operation.path.endswith("/batch")
        return not first and (number + zlib.crc32(repr(kind).encode())) % 5 != 0


@pytest.fixture(scope="module")
def kinds() -> Kinds:
    return Kinds()


@pytest.fixture(scope="module")
def described() -> Any:
    """What the document says. A fixture, since to think up examples for each route is nothing to do while tests are collected."""
    return schemathesis.openapi.from_dict(the_document(), config=_config())


@pytest.fixture(autouse=True)
def _named(request: pytest.FixtureRequest) -> None:
    request.node._nodeid = request.node.nodeid  # which Schemathesis looks for, and pytest has no more


SCHEMA = schemathesis.pytest.from_fixture("described")


@schemathesis.serializer("application/x-ndjson")
def _as_it_is(_: schemathesis.SerializationContext, value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    """Connections that are kept."""
    with requests.Session() as made:
        made.trust_env = False  # nor are proxies and passwords looked for, request by request
        yield made


@pytest.fixture(scope="module")
def fuzzed(server: Running) -> Iterator[Site]:
    """A tenant with one of everything, for the fuzzer to do with as it likes."""
    site = Site(server, "fuzzed")
    site.trusted.define_queue("q")
    _there.extend(site.admin.submit() for _ in range(5))
    worker = site.admin.register("w")
    leases = site.admin.claim(worker, limit=3)
    site.admin.act("start", **site.admin.holder(leases[0]))
    site.admin.act("hold", subject_euid=_there[-1], reason="broken")
    site.trusted.define_node("n", queues={"normal": {}}, silent_after_seconds=86400)
    site.trusted.poll_node("n", {"agent_id": "a"})
    site.emitter = str(site.trusted.create_token("agent:n").secret.reveal())  # type: ignore[attr-defined]
    _there.extend([worker["euid"], *(lease["lease"] for lease in leases)])
    yield site
    site.close()


@settings(max_examples=3, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@SCHEMA.parametrize()
def test_no_answer_but_what_is_documented(
    case: schemathesis.Case, fuzzed: Site, session: requests.Session, kinds: Kinds
) -> None:
    if kinds.has_enough_of(case):
        return
    # The body may be an example of the document, which others read, too: it is not changed where it stands.
    if isinstance(case.body, dict) and isinstance(case.body.get("wait_seconds"), int | float):
        case.body = {**case.body, "wait_seconds": min(case.body["wait_seconds"], 0)}  # to wait is tested elsewhere
    if isinstance(case.body, dict) and isinstance(case.body.get("events"), list):
        case.body = {**case.body, "events": case.body["events"][:100]}  # of those who do not say who they are, 64 KiB
    sent = {"base_url": fuzzed.server.url, "headers": {"Authorization": f"Bearer {fuzzed.admin.secret}"}}
    if case.operation.path.startswith(REMOTE) and _of_a_node(case):
        sent["headers"] = {"Authorization": f"Bearer {fuzzed.emitter}"}
    if case.operation.path == f"{PREFIX}/events":
        _stream(case, session, sent)
        return
    # A header that nobody asked for is nobody's mistake; and whatever stands in a bulk or a batch, each is answered for itself.
    each_answered = case.operation.path.endswith((":bulk", "/events/batch"))
    forgiven = "x-schemathesis-unknown-property" in case.headers or each_answered
    case.call_and_validate(
        **sent, timeout=20, session=session, excluded_checks=[negative_data_rejection] if forgiven else []
    )


def _of_a_node(case: schemathesis.Case) -> bool:
    """Whether only a management node may ask it."""
    return "/events" in case.operation.path or case.operation.path.endswith(("/poll", "/node"))


def _stream(case: schemathesis.Case, session: requests.Session, sent: dict[str, Any]) -> None:
    """A stream goes on for ever, so only how it begins is looked at; a refusal is looked at as any other."""
    with session.request(**case.as_transport_kwargs(**sent), stream=True, timeout=20) as response:
        if response.status_code == 200:
            assert response.headers["content-type"].startswith("text/event-stream")
        else:
            case.validate_response(schemathesis.Response.from_requests(response, verify=True))
