"""The application of the demonstration: what its two service workers can do.

``tenure worker tenure.demo.app:app`` runs it; the demonstration starts two such processes. Each task is one step of a
chain: it does its part and says to which queue the subject goes next.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tenure import Fail, Job, Next, Retry, Tenure
from tenure.demo import artifacts, orders, queues, survey
from tenure.demo.analysis import analyse
from tenure.demo.judgments import MalformedJudgments, read_judgments
from tenure.demo.published import compared
from tenure.model.states import ErrorClass

app = Tenure()
orders.join(app)
survey.join(app)


# Compute: analysis request -> dispatch -> artifact -> QC (S1 section 4.5) -------------------------------------------------
@app.task(queue=queues.DISPATCH, key="analysis.run", template=queues.REQUEST)
def run_analysis(dataset: str, source: str, job: Job) -> Next:
    """Analyse a data set, keep the outcome as an artifact, register that, and send the request on to its QC."""
    path = Path(source)
    if not path.exists():
        raise Retry(
            f"{path.name} is still being uploaded",
            code="upload_incomplete",
            error_class=ErrorClass.TRANSIENT_DEPENDENCY,
        )
    try:
        judgments = read_judgments(path.read_text(encoding="utf-8"))
    except MalformedJudgments as error:
        raise Fail(
            f"{path.name}: {error}", code="malformed_judgments", error_class=ErrorClass.PERMANENT_INPUT
        ) from error
    report = analyse(dataset, judgments, going_on=lambda: not job.lost)
    if report is None:  # the lease is lost: nothing that is said from here on counts
        raise Retry("the lease was lost on the way")
    kept, sha256 = artifacts.keep(path.parent.parent / "artifacts", dataset, report)
    # The key makes a second attempt, after a crash at any point, register the same artifact once.
    artifact = app.submit(
        template=queues.ARTIFACT, queue_key=queues.ARTIFACT_INTAKE, next_action_key="artifact.check", name=kept.name,
        external_ref=f"artifact:{kept.name}", properties={"path": str(kept), "sha256": sha256}, payload_ref=kept.as_uri(),
        idempotency_key=f"artifact:{job.subject}:{sha256}",
    )  # fmt: skip
    told = {"artifact": kept.name, "judgments": report["judgments"], **report["accuracy"]}
    return Next(queues.ANALYSIS_QC, "analysis.qc", told, outputs=[artifact.subject])


@app.task(queue=queues.ANALYSIS_QC, key="analysis.qc", template=queues.REQUEST)
def check_analysis(dataset: str, source: str, job: Job) -> dict[str, Any]:
    """Compare the newest artifact of the request with what was published; fail for good outside the tolerance."""
    outputs = app.history(job.subject).thread.outputs
    _, newest = max(outputs)
    registered = app.inspect(newest).subject.properties
    report = artifacts.read(registered["path"], registered["sha256"])
    if report is None:
        raise Fail(
            "the artifact is not what was registered", code="artifact_changed", error_class=ErrorClass.PERMANENT_STATE
        )
    verdict = compared(dataset, report)
    if not verdict["within"]:
        raise Fail(
            f"{verdict['compared']}: {verdict['found']} found, {verdict['published']} published, "
            f"{verdict['tolerance']} allowed", code="outside_tolerance", error_class=ErrorClass.PERMANENT_STATE,
        )  # fmt: skip
    return verdict


@app.task(queue=queues.ARTIFACT_INTAKE, key="artifact.check", template=queues.ARTIFACT)
def check_artifact(path: str, sha256: str) -> dict[str, Any]:
    """Take an artifact in: its file is there and is what was registered."""
    if artifacts.read(path, sha256) is None:
        raise Fail(f"{Path(path).name} does not have the hash {sha256[:12]}", code="artifact_changed")
    return {"sha256": sha256, "bytes": Path(path).stat().st_size}


# Wet lab: specimen -> extraction -> QC by a person -> library -> pool -> run (S1 section 4.4) -----------------------------
# No instrument is attached: each step records what it would have made, from what the specimen says of itself.
@app.task(queue=queues.EXTRACTION, key="create_extraction", template=queues.SPECIMEN)
def extract(specimen: str, tissue: str) -> Next:
    """Extraction; a person looks at the result next."""
    return Next(
        queues.POST_EXTRACT_QC,
        "record_post_extract_qc",
        {"state": "extracted", "tube": f"{specimen}-EX", "from": tissue},
    )


@app.task(queue=queues.LIBRARY_PREP, key="create_library_prep", template=queues.SPECIMEN)
def prepare_library(specimen: str, tissue: str) -> Next:
    """Library preparation."""
    return Next(
        queues.SEQ_POOL, "create_pool", {"state": "library_prepared", "library": f"{specimen}-LIB", "from": tissue}
    )


@app.task(queue=queues.SEQ_POOL, key="create_pool", template=queues.SPECIMEN)
def pool(specimen: str, tissue: str) -> Next:
    """Pooling."""
    return Next(
        queues.START_RUN, "create_run", {"state": "pooled", "pool": "POOL-1", "with": f"{specimen}-LIB", "from": tissue}
    )


@app.task(queue=queues.START_RUN, key="create_run", template=queues.SPECIMEN)
def start_run(specimen: str, tissue: str) -> dict[str, Any]:
    """Start of the sequencing run: the end of the chain."""
    return {"state": "run_started", "run": "RUN-1", "specimen": specimen, "from": tissue}
