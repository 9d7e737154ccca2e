"""Roles and what they permit (S1 section 10.4)."""

from __future__ import annotations

import pytest

from tenure.model.errors import Forbidden
from tenure.model.roles import GRANTS, Permission, Role, demand, permissions_of, roles_with

P, R = Permission, Role


def test_every_role_may_look_but_that_of_a_node_which_is_told_what_it_needs() -> None:
    assert {role for role in Role if P.READ not in GRANTS[role]} == {R.MANAGEMENT_NODE}
    assert GRANTS[R.MANAGEMENT_NODE] == {P.EXECUTE}
    assert roles_with(P.EXECUTE) == [R.MANAGEMENT_NODE]


def test_only_an_admin_administers() -> None:
    assert roles_with(P.ADMINISTER) == [R.ADMIN]


def test_operators_hold_requeue_and_cancel_and_workers_do_not() -> None:
    assert set(roles_with(P.OPERATE)) == {R.OPERATOR, R.ADMIN}


def test_an_operator_may_claim_as_a_human_worker() -> None:
    assert P.WORK in GRANTS[R.OPERATOR]


def test_roles_add_up() -> None:
    assert permissions_of([R.OBSERVER, R.WORKER_SERVICE]) == {P.READ, P.WORK, P.SUBMIT}
    assert permissions_of([]) == frozenset()


def test_what_is_missing_is_named_with_who_has_it() -> None:
    with pytest.raises(Forbidden) as raised:
        demand(P.OPERATE, permissions_of([R.WORKER_HUMAN]))
    assert raised.value.evidence == {"permission": "operate"}
    assert "operator, admin" in str(raised.value)
