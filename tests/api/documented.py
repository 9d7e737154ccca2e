"""An HTTP client that believes no answer: each must be as the OpenAPI document says."""

from __future__ import annotations

import copy
import re
import ssl
from functools import cache
from typing import Any

import httpx
import jsonschema

from tenure.api.application import create_application
from tenure.api.settings import ServerSettings

PREFIX = "/api/v1/execution"
#: For clients of plain HTTP: to read whom the machine trusts takes longer than a request.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@cache
def the_document() -> dict[str, Any]:
    """The document, which takes a while to make: the same for every server (``test_documents`` sees to that)."""
    return create_application(ServerSettings(dsn="", ui=False)).openapi()


def closed(document: dict[str, Any]) -> dict[str, Any]:
    """The document with objects that may hold only what it names: what an answer says must be documented, too."""

    def close(node: Any) -> None:
        if isinstance(node, dict):
            if "properties" in node and "additionalProperties" not in node:
                node["additionalProperties"] = False
            for name, inner in node.items():
                if name not in ("example", "examples", "default"):
                    close(inner)
        elif isinstance(node, list):
            for inner in node:
                close(inner)

    shut = copy.deepcopy(document)
    close(shut["components"]["schemas"])
    # A page of the ledger says more than a page; both are objects of their own in the document.
    return shut


class Contract:
    """What a document promises."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.closed = closed(document)
        self._paths = [
            (re.compile("^" + re.sub(r"\{[^}]*\}", "[^?]+", path.replace(".", r"\.")) + "$"), path)
            for path in sorted(document["paths"], key=lambda p: ("{" in p.rpartition("/")[2], p))
        ]

    def check(self, response: httpx.Response) -> None:
        """Raise AssertionError where the answer is not what the document promises."""
        method, path = response.request.method.lower(), response.request.url.path
        template = next((name for pattern, name in self._paths if pattern.match(path)), None)
        if template is None or method not in self.document["paths"][template]:
            return  # not a route: no promise
        operation = self.closed["paths"][template][method]
        promised = operation["responses"].get(str(response.status_code))
        told = f"{method.upper()} {template} answered {response.status_code}: {response.text[:500]}"
        assert promised is not None, told
        media = response.headers.get("content-type", "").partition(";")[0]
        assert media in promised["content"], f"{told} as {media}"
        if media.endswith("json") and not media.endswith("x-ndjson"):
            schema = {**promised["content"][media]["schema"], "components": self.closed["components"]}
            validator = jsonschema.Draft202012Validator(
                schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
            )
            errors = [f"{e.json_path}: {e.message}" for e in validator.iter_errors(response.json())]
            assert errors == [], f"{errors}: {told}"


@cache
def the_contract() -> Contract:
    """What every server promises."""
    return Contract(the_document())


class Documented:
    """An HTTP client of one identity; paths are below the API's prefix unless they begin with //."""

    def __init__(self, server: Any, secret: str | None) -> None:
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        self.secret = secret
        self.http = httpx.Client(base_url=server.url, headers=headers, timeout=30, verify=NO_TLS)

    def close(self) -> None:
        self.http.close()

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Any request, its answer checked."""
        response = self.http.request(method, self.address(path), **options)
        the_contract().check(response)
        return response

    @staticmethod
    def address(path: str) -> str:
        return path[1:] if path.startswith("//") else PREFIX + path

    def get(self, path: str, **params: Any) -> Any:
        """What a read answers; it must succeed."""
        response = self.request("GET", path, params={k: v for k, v in params.items() if v is not None} or None)
        assert response.status_code == 200, response.text
        return response.json()

    def act(self, action: str, *, key: str | None = None, **body: Any) -> Any:
        """What an action answers; it must succeed."""
        response = self.ask(action, key=key, **body)
        assert response.status_code == 200, response.text
        return response.json()

    def ask(self, action: str, *, key: str | None = None, **body: Any) -> httpx.Response:
        """An action, whatever it answers."""
        headers = {"Idempotency-Key": key} if key is not None else {}
        return self.request("POST", f"/actions/{action}", json=body, headers=headers)

    def refused(self, action: str, *, key: str | None = None, **body: Any) -> str:
        """The code with which an action is refused."""
        response = self.ask(action, key=key, **body)
        assert response.status_code >= 400, response.text
        assert response.headers["content-type"] == "application/problem+json"
        return str(response.json()["code"])

    def submit(self, queue_key: str | None = "q", **fields: Any) -> str:
        """Create a subject; its EUID."""
        response = self.request("POST", "/subjects", json={"queue_key": queue_key, **fields})
        assert response.status_code == 201, response.text
        return str(response.json()["subject"])

    def register(self, worker_key: str = "w", **spec: Any) -> dict[str, Any]:
        """Register a worker."""
        spec = {"max_concurrent_leases": 100, "heartbeat_ttl_seconds": 86400} | spec
        answer: dict[str, Any] = self.act("register-worker", worker_key=worker_key, **spec)
        return answer

    def claim(self, worker: dict[str, Any], queue_key: str = "q", **fields: Any) -> list[dict[str, Any]]:
        """Claim for a worker; what was taken."""
        body = {"worker_euid": worker["euid"], "incarnation": worker["incarnation"], "queue_key": queue_key} | fields
        leases: list[dict[str, Any]] = self.act("claim", **body)["leases"]
        return leases

    @staticmethod
    def holder(lease: dict[str, Any]) -> dict[str, Any]:
        """What proves the holder of a lease."""
        return {"lease_euid": lease["lease"], "worker_euid": lease["worker"], "lease_token": lease["lease_token"]}
