"""What is written about the API is true: the reference is current, and the how-to's commands run."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tenure.api.application import create_application
from tenure.api.settings import ServerSettings
from tenure.model.euid import parse_euid
from tests.api.conftest import Site
from tests.api.documented import the_contract, the_document

ROOT = Path(__file__).parents[2]
OPERATIONS = [
    pytest.param(path, method, operation, id=operation["operationId"])
    for path, item in the_document()["paths"].items() for method, operation in item.items()
]  # fmt: skip


def test_the_reference_is_what_the_document_says() -> None:
    """Write it anew: python tools/http_reference.py."""
    written_anew = runpy.run_path(str(ROOT / "tools" / "http_reference.py"))["page"]()
    assert (ROOT / "docs" / "reference" / "http-api.md").read_text(encoding="utf-8") == written_anew


def test_every_server_has_the_same_document() -> None:
    application = create_application(ServerSettings(dsn="postgresql:///other", tenant="other", max_connections=2))
    assert application.openapi() == the_document()


@pytest.mark.parametrize("path, method, operation", OPERATIONS)
def test_every_route_is_described_with_examples_that_fit(path: str, method: str, operation: dict[str, Any]) -> None:
    assert operation["summary"] and operation["description"] and operation["tags"]
    assert operation["operationId"].isidentifier()
    contents = [operation.get("requestBody", {}).get("content", {})]
    contents += [answer.get("content", {}) for answer in operation["responses"].values()]
    checked = 0
    for media, content in ((media, inner) for each in contents for media, inner in each.items()):
        assert "example" in content or "examples" in content, f"{method} {path} has no example for {media}"
        if media.endswith("+json") or media == "application/json":
            schema = {**content["schema"], "components": the_contract().closed["components"]}
            jsonschema.Draft202012Validator(schema).validate(content["example"])
            for named in re.findall(r'"([A-Z]{2}-[0-9A-Z]+)"', str(content["example"]).replace("'", '"')):
                parse_euid(named)
            checked += 1
    assert checked or path.endswith((":bulk", "/events")) or "204" in operation["responses"] or path == "/metrics"


@pytest.mark.parametrize("path, method, operation", OPERATIONS)
def test_every_parameter_is_described(path: str, method: str, operation: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", ()):
        assert parameter.get("description") or parameter["schema"].get("description"), (path, parameter["name"])


def test_the_commands_of_the_how_to_run(site: Site) -> None:
    if missing := [name for name in ("bash", "curl", "jq") if shutil.which(name) is None]:
        pytest.skip(f"{', '.join(missing)} not installed (Debian: apt-get install {' '.join(missing)})")
    page = (ROOT / "docs" / "how-to" / "work-over-http.md").read_text(encoding="utf-8")
    script = "set -euo pipefail\n" + "\n".join(re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL))
    environment = os.environ | {"TENURE_URL": site.server.url, "TENURE_TOKEN": str(site.admin.secret)}

    done = subprocess.run(
        ["bash", "-c", script], check=False, env=environment, capture_output=True, text=True, timeout=60
    )

    assert done.returncode == 0, done.stdout + done.stderr
    told = re.sub(r"\s+", " ", done.stdout)
    for expected in (
        '"thumbnails"', '"state": "READY"', '{"line":3,"subject":"SX-', '"state": "COMPLETED"',
        '"HELD"', '"hold_active"', '"type":"hold.released"', "event: execution.completed", '"code": "queue_unknown"',
    ):  # fmt: skip
        assert expected in told, done.stdout
