"""Who may do what: every role on every route of the document (S1 section 10.4; "must hold": one table)."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.model import euid
from tests.api.conftest import Site
from tests.api.documented import PREFIX, the_document

ANYBODY = frozenset(
    {"anonymous", "nobody", "observer", "worker_human", "worker_service", "operator", "admin", "management_node"}
)
KNOWN = ANYBODY - {"anonymous"}
READ = KNOWN - {"nobody", "management_node"}
WORK = READ - {"observer"}
SUBMIT = frozenset({"worker_service", "operator", "admin"})
OPERATE = frozenset({"operator", "admin"})
ADMINISTER = frozenset({"admin"})
EXECUTE = frozenset({"management_node"})

#: Every route by its operationId, and who may. A route that is not in it fails the test below.
WHO_MAY = {
    "list_queues": READ, "list_queue_items": READ, "get_queue": READ, "get_subject": READ, "why": READ,
    "get_history": READ, "as_of": READ, "get_lineage": READ, "list_subject_facts": READ, "list_templates": READ,
    "list_workers": READ, "get_worker": READ, "list_leases": READ, "list_dead_letters": READ, "list_holds": READ,
    "list_facts": READ, "find_subjects": READ, "list_queue_samples": READ, "follow_events": READ, "metrics": READ,
    "submit_subject": SUBMIT, "submit_subjects": SUBMIT,
    "register_worker": WORK, "heartbeat_worker": WORK, "claim": WORK, "start": WORK, "dispatch_external": WORK,
    "renew_lease": WORK, "release_lease": WORK, "complete": WORK, "fail": WORK, "defer": WORK,
    "hold": OPERATE, "release_hold": OPERATE, "requeue": OPERATE, "cancel": OPERATE, "resolve_dead_letter": OPERATE,
    "expire_lease": ADMINISTER, "drain_worker": ADMINISTER, "disable_worker": ADMINISTER, "enable_worker": ADMINISTER,
    "define_queue": ADMINISTER, "update_queue_policy": ADMINISTER,
    "retire_queue": ADMINISTER, "define_template": ADMINISTER,
    "live": ANYBODY, "ready": ANYBODY, "sign_in": ANYBODY, "who_am_i": KNOWN, "sign_out": KNOWN,
    "change_own_password": KNOWN, "batch": WORK,
    "retire_worker": WORK,  # its own; an admin any
    "list_workflows": READ, "get_workflow": READ, "get_workflow_graph": READ, "list_runs": READ, "get_run": READ,
    "explain_run": READ, "get_run_graph": READ, "get_run_timeline": READ, "get_run_as_of": READ, "list_schedules": READ,
    "start_run": SUBMIT, "signal_run": SUBMIT, "signal_subject": SUBMIT,
    "find_step": WORK, "keep_step": WORK, "begin_wait": WORK, "take_signal": WORK, "start_child_run": WORK,
    "cancel_run": OPERATE, "pause_run": OPERATE, "resume_run": OPERATE,
    "approve_run": WORK, "reject_run": WORK,  # whom the step names; an operator where it names nobody
    "replay_run": OPERATE, "retry_run": OPERATE,
    "migrate_run": ADMINISTER, "define_workflow": ADMINISTER, "retire_workflow": ADMINISTER,
    "define_schedule": ADMINISTER, "pause_schedule": ADMINISTER, "resume_schedule": ADMINISTER,
    "list_subscriptions": OPERATE, "get_subscription": OPERATE, "list_failed_deliveries": OPERATE,
    "list_event_dead_letters": OPERATE, "define_subscription": ADMINISTER, "pause_subscription": ADMINISTER,
    "resume_subscription": ADMINISTER, "remove_subscription": ADMINISTER, "rotate_signing_key": ADMINISTER,
    "test_subscription": ADMINISTER, "redeliver_event": OPERATE, "ignore_event": OPERATE,
    "explain_subscription": OPERATE, "list_waiting_events": OPERATE, "give_up_event": OPERATE,
    "list_retention": ADMINISTER, "set_retention": ADMINISTER,
    "list_principals": ADMINISTER, "create_principal": ADMINISTER, "get_principal": ADMINISTER,
    "change_principal": ADMINISTER, "set_password": ADMINISTER,
    "list_nodes": READ, "get_node": READ, "define_node": ADMINISTER,
    "poll_node": EXECUTE, "get_own_node": EXECUTE, "receive_event": EXECUTE, "receive_events": EXECUTE,
    "submit_job": SUBMIT, "cancel_submission": SUBMIT, "list_submissions": READ, "get_submission": READ,
    "get_submission_history": READ,
    "list_tokens": ADMINISTER, "create_token": ADMINISTER, "revoke_token": ADMINISTER,
}  # fmt: skip

OPERATIONS = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, item in the_document()["paths"].items() for method, operation in item.items()
}  # fmt: skip


def test_every_route_is_in_the_table_and_nothing_else() -> None:
    assert WHO_MAY.keys() == OPERATIONS.keys()


def _sent(method: str, path: str, operation: dict[str, Any]) -> dict[str, Any]:
    nowhere = euid.format_euid("SX", 2**50)
    for name in ("subject_euid", "worker_euid", "token_euid", "principal_euid", "run_euid"):
        path = path.replace(f"{{{name}}}", nowhere)
    sent: dict[str, Any] = {
        "method": method,
        "url": path.replace("{queue_key}", "nowhere")
        .replace("{name}", "nothing")
        .replace("{node}", "nowhere")
        .replace("{submission_id}", nowhere)
        .replace("{principal}", "service:nobody-there"),
    }
    media = list(operation.get("requestBody", {}).get("content", {}))
    if media == ["application/x-ndjson"]:
        sent |= {"content": b"", "headers": {"Content-Type": media[0]}}
    elif media:
        sent["json"] = {}
    return sent


@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_who_may_and_who_may_not(site: Site, operation_id: str) -> None:
    method, path, operation = OPERATIONS[operation_id]
    may = {}
    for role in sorted(ANYBODY):
        if role == "anonymous":
            client = site.anonymous
        elif role == "nobody":
            client = site.as_()
        else:
            client = site.as_(role)
        with client.http.stream(**_sent(method, path, operation)) as response:
            status = response.status_code
            code = response.headers.get("content-type")
        if operation_id == "sign_in":
            assert status == 400  # an empty body; what it takes is tested where it belongs
        elif role == "anonymous" and role not in WHO_MAY[operation_id]:
            assert (status, code) == (401, "application/problem+json")
        elif role not in WHO_MAY[operation_id]:
            assert (status, code) == (403, "application/problem+json")
        assert status < 500
        may[role] = status not in (401, 403)

    assert {role for role, allowed in may.items() if allowed} == WHO_MAY[operation_id]


def test_a_token_carries_no_more_than_its_own_roles(site: Site) -> None:
    site.trusted.create_principal("service:wide", roles=["admin", "observer"])
    narrow = site.trusted.create_token("service:wide", roles=["observer"]).secret.reveal()

    def status(secret: str) -> int:
        headers = {"Authorization": f"Bearer {secret}"}
        return site.anonymous.http.post(f"{PREFIX}/actions/hold", json={}, headers=headers).status_code

    assert status(narrow) == 403
    assert status(site.trusted.create_token("service:wide").secret.reveal()) == 400
