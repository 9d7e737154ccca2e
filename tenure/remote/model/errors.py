"""What is refused at the border, by the codes of S5 (S5, Error semantics; design 04)."""

from __future__ import annotations

from tenure.model.errors import Conflict, InvalidRequest, NotFound, TenureError


class InvalidEvent(InvalidRequest):
    """An event that breaks its schema, or lacks what its state asks for."""

    code = "invalid_event"


class SubmissionNotFound(NotFound):
    """There is no such submission for this tenant."""

    code = "submission_not_found"


class NodeNotFound(NotFound):
    """There is no such management node for this tenant."""

    code = "management_node_not_found"


class NodeHasAgent(Conflict):
    """An agent of another state folder is the node; ``retry_after`` in the evidence says in how many seconds it need not be."""

    code = "node_has_agent"


class PolicyRejected(TenureError):
    """The node's mapping does not let the profile or the resources pass."""

    code = "policy_rejected"
    status = 422


class ExecutionUnavailable(TenureError):
    """The node is silent or takes nothing; ``retry_after`` in the evidence says in how many seconds to come back."""

    code = "execution_unavailable"
    status = 503
