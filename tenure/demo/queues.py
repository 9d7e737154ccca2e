"""The queues and templates of the demonstration: a laboratory's wet lab (S1 section 4.4) and its compute (4.5)."""

from __future__ import annotations

from typing import Any

from tenure.demo import orders, survey
from tenure.sdk.client import Tenure

SPECIMEN = "content/material/specimen/1.0"
REQUEST = "data/analysis/request/1.0"
ARTIFACT = "data/analysis/artifact/1.0"

EXTRACTION = "extraction_prod"
POST_EXTRACT_QC = "post_extract_qc"
LIBRARY_PREP = "ilmn_lib_prep"
SEQ_POOL = "ilmn_seq_pool"
START_RUN = "ilmn_start_seq_run"
WET_LAB = (EXTRACTION, POST_EXTRACT_QC, LIBRARY_PREP, SEQ_POOL, START_RUN)

DISPATCH = "analysis_dispatch"
ANALYSIS_QC = "analysis_qc"
ARTIFACT_INTAKE = "artifact_intake"
GPU_ANALYSIS = "analysis_gpu"

#: Short, so that what a killed worker held is soon taken over; a living one renews every third of it.
LEASE_SECONDS = 4

_SCHEMAS: dict[str, dict[str, Any]] = {
    SPECIMEN: {
        "type": "object", "required": ["specimen", "tissue"],
        "properties": {"specimen": {"type": "string", "pattern": "^SP-[0-9]+$"}, "tissue": {"type": "string"}},
    },
    REQUEST: {
        "type": "object", "required": ["dataset", "source"],
        "properties": {"dataset": {"type": "string"}, "source": {"type": "string"}},
    },
    ARTIFACT: {
        "type": "object", "required": ["path", "sha256"],
        "properties": {"path": {"type": "string"}, "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}},
    },
}  # fmt: skip
_SOON = {"mode": "CONSTANT", "initial_delay_seconds": 1}


def define(client: Tenure) -> None:
    """Define all of them. Wet lab first: a specimen does not keep."""
    for code, schema in _SCHEMAS.items():
        client.define_template(code, schema)
    for key in WET_LAB:
        client.define_queue(
            key, subject_template_codes=(SPECIMEN,), manual_only=key == POST_EXTRACT_QC, dispatch_priority=200,
            lease_ttl_seconds=600 if key == POST_EXTRACT_QC else LEASE_SECONDS, retry_policy=_SOON,
        )  # fmt: skip
    for key, template, priority in (
        (ARTIFACT_INTAKE, ARTIFACT, 180),
        (ANALYSIS_QC, REQUEST, 160),
        (DISPATCH, REQUEST, 100),
    ):
        client.define_queue(
            key, subject_template_codes=(template,), dispatch_priority=priority, lease_ttl_seconds=LEASE_SECONDS,
            retry_policy=_SOON,
        )  # fmt: skip
    for key in (orders.SHOP, orders.CARRIER, survey.FILES):
        client.define_queue(key, lease_ttl_seconds=LEASE_SECONDS, retry_policy=_SOON)
    client.define_queue(
        GPU_ANALYSIS,
        subject_template_codes=(REQUEST,),
        required_worker_capabilities=("gpu",),
        lease_ttl_seconds=LEASE_SECONDS,
    )
