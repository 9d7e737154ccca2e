"""Reading for ``verify``: evidence of subjects in batches, and what only a look across threads finds."""

from __future__ import annotations

from collections.abc import Sequence

from tenure.model.fact import Fact
from tenure.model.thread import SubjectThread
from tenure.store.operation import Op, Statement
from tenure.store.postgres.proof import proof_of
from tenure.store.records import Divergence

_NOT_TOLD = ["token_hash", "claim_hash", "result", "error_message"]
_AT_MOST = 100
_UNPROVED = {
    "inputs_differ": "The subject's data is not what its first fact proves.",
    "result_differs": "A result is not what its fact proves.",
}
_OVERALL = (
    ("overlapping_leases", "overlapping_leases", "Two leases hold slot {slot} at once."),
    ("dead_letter_without_edges", "loose_dead_letters", "A dead letter lacks edges of its lineage."),
    ("unregistered_fact_type", "unregistered_fact_types", "Fact type {type} is not registered."),
    ("untold_attempt", "untold_attempts", "No fact tells of an attempt."),
    ("orphan", "orphaned_subjects", "The thread has no {lacks}."),
)


class Verifying:
    """The verifying part of the store port."""

    def subjects_after(self, tenant: int | None, after: int, limit: int, sample: float | None) -> Op[list[int]]:
        """See ``Store.subjects_after``; a sample is drawn by a hash of the uid, so it is the same every time."""
        params = {"tenant": tenant, "after": after, "limit": limit, "sample": sample}
        return [row["uid"] for row in (yield Statement("subjects_after", params))]

    def subject_count(self, tenant: int | None) -> Op[int]:
        """See ``Store.subject_count``."""
        count: int = (yield Statement("subject_count", {"tenant": tenant}))[0]["subjects"]
        return count

    def owners_after(self, tenant: int | None, after: int, limit: int) -> Op[list[tuple[int, int, bytes]]]:
        """See ``Store.owners_after``."""
        found = yield Statement("owners_after", {"tenant": tenant, "after": after, "limit": limit})
        return [(row["uid"], row["seq"], bytes(row["head"])) for row in found]

    def evidence(self, uids: Sequence[int]) -> Op[list[tuple[SubjectThread, list[Fact]]]]:
        """See ``Store.evidence``; one statement, so that it is one moment."""
        found = yield Statement("evidence", {"uids": list(uids), "tenant": None, "without": _NOT_TOLD})
        return [proof_of(row) for row in found]

    def data_divergences(self, uids: Sequence[int]) -> Op[list[Divergence]]:
        """See ``Store.data_divergences``."""
        found = yield Statement("unproved_data", {"uids": list(uids)})
        return [
            Divergence(
                row["kind"], row["thread"], _UNPROVED[row["kind"]], {"lease": row["lease"]} if row["lease"] else {}
            )
            for row in found
        ]

    def overall_divergences(self, tenant: int | None) -> Op[list[Divergence]]:
        """See ``Store.overall_divergences``; at most a hundred of each kind."""
        found: list[Divergence] = []
        for kind, statement, message in _OVERALL:
            for row in (yield Statement(statement, {"tenant": tenant, "limit": _AT_MOST})):
                evidence = {name: value for name, value in row.items() if name != "thread"}
                found.append(Divergence(kind, row["thread"], message.format(**row), evidence))
        return found
