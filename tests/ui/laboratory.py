"""A laboratory in the middle of its day: every state, every kind of reason, people and processes at work."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import psycopg

from tenure.model.states import ErrorClass
from tenure.model.worker import Worker
from tenure.sdk.client import Tenure
from tenure.sdk.operations import Lease

PASSWORD = "correct horse battery staple"  # noqa: S105
PEOPLE = {
    "user:ada": ("Ada Ng", "admin"), "user:omar": ("Omar Reyes", "operator"), "user:wim": ("Wim de Boer", "worker_human"),
    "user:obi": ("Obi Okafor", "observer"),
}  # fmt: skip
MARKUP = "<img src=x onerror=\"window.hurt=1\"><script>window.hurt=1</script>{{7*7}} & 'co'"


@dataclass
class Laboratory:
    """What is in it, by name."""

    subjects: dict[str, int] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)
    workers: dict[str, Worker] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)
    submissions: dict[str, str] = field(default_factory=dict)


def sampled(dsn: str, queues: tuple[str, ...] = ("extraction", "qc/manual", "alignment")) -> None:
    """As if the queues had been sampled for the last hour and a half."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for key in queues:
            connection.execute(_SAMPLES, {"queue_key": key})


_SAMPLES = """
insert into tenure.queue_sample (tenant, queue_key, at, window_seconds, queue_depth, oldest_job_age_seconds, active_leases,
    expired_leases_total, retryable_failures_total, terminal_failures_total, throughput_success_per_minute,
    throughput_failure_per_minute, failure_rate, dead_letter_count, held_count, worker_online_count, claim_conflict_total,
    idempotent_replay_total)
select q.tenant, q.queue_key, now() - n * interval '1 minute', 300,
    round(7 + 5 * sin(n / 9.0) + n * 7 %% 3), 240 + 180 * sin(n / 9.0 + 1), 2, 0, 0, 0,
    2.5 + cos(n / 12.0) + n * 7 %% 5 / 8.0, greatest(0, sin(n / 5.0)) * 0.6, 0.1, 0, 1, 2, 0, 0
from tenure.queue q, generate_series(1, 90) n where q.queue_key = %(queue_key)s
"""


def people(client: Tenure) -> None:
    """Those who sign in."""
    for name, (display_name, role) in PEOPLE.items():
        client.create_principal(name, roles=[role], display_name=display_name)
        client.set_password(name, PASSWORD)


def set_up(client: Tenure) -> Laboratory:
    """Queues, workers and subjects in all states."""
    lab = Laboratory()
    client.define_queue(
        "extraction", display_name="Extraction at the robot", lease_ttl_seconds=1800, dispatch_priority=200
    )
    client.define_queue(
        "qc/manual", display_name="Quality control", manual_only=True, lease_ttl_seconds=900, dispatch_priority=180
    )
    client.define_queue(
        "sequencing", required_worker_capabilities=("flowcell",), site_scope=("boston",), dispatch_priority=150
    )
    client.define_queue("alignment", max_attempts_default=2, lease_ttl_seconds=600)
    client.define_queue("sequencing/empty", site_scope=("boston",), dispatch_priority=20)
    client.define_queue("archive", enabled=False, disabled_reason="tape library is being moved", dispatch_priority=10)

    def register(key: str, **spec: object) -> Worker:
        lab.workers[key] = client.register_worker(key, max_concurrent_leases=50, heartbeat_ttl_seconds=86400, **spec)
        return lab.workers[key]

    robot = register("robot/hamilton-1", worker_type="INSTRUMENT_ADAPTER", display_name="Hamilton STAR", host="bench-4",
                     site_scope=("boston",))  # fmt: skip
    north = register("align/north-1", capabilities=("gpu", "avx512"), host="node-17", build_version="2.4.1")
    register("align/south-1", capabilities=("gpu",), host="node-22")
    client.register_worker("align/old", heartbeat_ttl_seconds=1, host="node-03")

    now = datetime.now(UTC)

    def submit(name: str, queue: str | None, **more: object) -> int:
        made = client.submit(queue_key=queue, name=name, external_ref=f"LIMS-{len(lab.subjects) + 4711}", **more)
        lab.subjects[name] = made.subject
        return made.subject

    for n in range(1, 7):
        submit(
            f"blood {n:02}", "extraction", priority=5 if n == 3 else 0, site="boston", assay="WGS",
            platform="hamilton", due_at=now + timedelta(hours=n) if n % 2 else None,
            properties={"tube": f"T-{1000 + n}", "volume_ul": 250 + n},
        )  # fmt: skip
    for n in range(1, 5):
        submit(f"eluate {n:02}", "qc/manual", site="boston" if n % 2 else "leiden", assay="WGS" if n < 3 else "RNA",
               properties={"concentration_ng_ul": 31.5 + n, "ratio_260_280": 1.8})  # fmt: skip
    submit("pool 7", "sequencing", site="boston")
    submit("tomorrow's run", "alignment", ready_at=now + timedelta(hours=20))
    submit("cold case", "archive")
    submit("not routed", None, ready=False)
    submit(MARKUP, "alignment", priority=-5, properties={"note": MARKUP})

    def take(worker: Worker, queue: str, name: str) -> Lease:
        lab.leases[name] = client.claim(worker, queue, subject=lab.subjects[name], start=True)[0]
        return lab.leases[name]

    take(robot, "extraction", "blood 01")
    take(robot, "extraction", "blood 02")
    held = lab.subjects["blood 04"]
    client.hold(held, reason="label smudged: compare with the requisition", hold_code="LABEL")
    client.hold(lab.subjects["eluate 02"], reason="two tubes carry this number", hold_code="IDENTITY")

    parent = submit("run 2026-118", "alignment", properties={"flowcell": "H7", "lanes": [1, 2, 3, 4]})
    for lane in (1, 2, 3):
        submit(f"lane {lane}", "alignment", parents=[parent])
    run = take(north, "alignment", "run 2026-118")
    client.complete(run, result={"reads": 812_345_678, "q30": 0.934}, outputs=[lab.subjects["lane 1"]])
    take(north, "alignment", "lane 1")
    failing = take(north, "alignment", "lane 2")
    client.fail(failing, error_class=ErrorClass.TRANSIENT_DEPENDENCY, error_code="reference_missing",
                error_message="Traceback (most recent call last):\n  …\nFileNotFoundError: GRCh38.fa.bwt")  # fmt: skip
    for number in (1, 2, 3):
        name = f"damaged {number}"
        submit(name, "alignment", max_attempts=1)
        client.fail(take(north, "alignment", name), error_class=ErrorClass.PERMANENT_INPUT, error_code="truncated",
                    error_message=f"ValueError: file {number} ends in the middle of a record")  # fmt: skip
    submit("withdrawn", "extraction")
    client.cancel(lab.subjects["withdrawn"], reason="consent was withdrawn")
    return lab
