"""Workflows: their versions, and how each goes (design 02, Model)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from tenure.api.answers import Answer, answered
from tenure.api.authentication import GatewayOf, Observer
from tenure.api.body import JsonRoute
from tenure.api.schemas.page import Page
from tenure.api.schemas.run import Graph, WorkflowShown
from tenure.flow.model.names import WorkflowName
from tenure.sdk import runs as ops
from tenure.sdk.public_form import public

router = APIRouter(tags=["runs"], route_class=JsonRoute)
_Named = Annotated[WorkflowName, Path(description="The name of a workflow.", examples=["order"])]
_Version = Annotated[int | None, Query(ge=1, lt=2**31, description="Not the newest, but this one.", examples=[1])]


@router.get("/workflows", operation_id="list_workflows", summary="All versions of all workflows",
            response_model=Page[WorkflowShown])  # fmt: skip
async def list_workflows(identity: Observer, gateway: GatewayOf) -> Answer:
    """By name and version. There are few: they come on one page."""
    return await answered(
        gateway, identity, ops.workflows_all, shown=lambda rows: {"items": public(rows), "next": None}
    )


@router.get(
    "/workflows/{name}", operation_id="get_workflow", summary="One version of a workflow", response_model=WorkflowShown
)
async def get_workflow(name: _Named, identity: Observer, gateway: GatewayOf, version: _Version = None) -> Answer:
    """The newest in use where no version is named."""
    return await answered(gateway, identity, lambda caller: ops.workflow_row(caller, name, version))


@router.get(
    "/workflows/{name}/graph", operation_id="get_workflow_graph", summary="A workflow as a graph", response_model=Graph
)
async def get_workflow_graph(name: _Named, identity: Observer, gateway: GatewayOf, version: _Version = None) -> Answer:
    """Its steps, and what leads from one to the next."""
    return await answered(gateway, identity, lambda caller: ops.workflow_graph(caller, name, version))
