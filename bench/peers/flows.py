"""Workflows of five no-op steps in Tenure, DBOS and Absurd, on one server, rounds interleaved.

usage: flows.py OUT.jsonl [ROUNDS] [RUNS]      (BENCH_ROOT as for run.py; venv_tenure, venv_dbos, venv_absurd)

For each: steps/s of RUNS runs with 1 and 2 worker processes, from the first step's start until nothing is unfinished, and the
time of a run from the call that starts it to its end, one run at a time.
"""

import json
import os
import statistics as st
import subprocess
import sys
import time

import psycopg
import run
from prefill import RESET, UNFINISHED
from shm import Board

STEPS = 5
BEST = {
    "tenure": {"batch": 300, "concurrency": 1000, "prefetch": 1000},
    "dbos": {"poll": 0.1},
    "absurd": {"concurrency": 1000},
}
UNFINISHED["tenure"] = "/* bench_driver */ select exists (select 1 from tenure.run where status = 'RUNNING')"
RESET["tenure"] = [
    (
        "set session_replication_role = replica; truncate tenure.subject, tenure.execution, tenure.attempt, tenure.fact, "
        "tenure.hold, tenure.dead_letter, tenure.link, tenure.refusal, tenure.run, tenure.runnable, tenure.run_payload, "
        "tenure.journal_checkpoint cascade; set session_replication_role = origin"
    )
]


def script(peer):
    return f"flow_{peer}.py"


def call(peer, sett, *args):
    r = subprocess.run(
        [run.VENV[peer], script(peer), *map(str, args)],
        env=run.env(peer, sett),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if r.returncode:
        raise RuntimeError(f"{peer} {args}: {r.stderr[-1500:]}")
    lines = [line for line in r.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {}


class Workers(run.Workers):
    def __init__(self, peer, sett, k):
        self.ps = [self.start(peer, sett, i) for i in range(k)]
        for p in self.ps:
            while (line := p.stdout.readline()).strip() != "READY":
                if not line:
                    raise RuntimeError(f"{peer}: a worker ended; see {run.ROOT}/log/flow_{peer}_*.err")

    def start(self, peer, sett, i):
        with open(f"{run.ROOT}/log/flow_{peer}_{i}.err", "w") as errors:
            return subprocess.Popen(
                [run.VENV[peer], script(peer), "worker", str(i)],
                env=run.env(peer, sett),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )


def create(peer, sett):
    with psycopg.connect(run.ADMIN, autocommit=True) as c:
        c.execute(f"drop database if exists flow_{peer} with (force)")
        c.execute(f"create database flow_{peer}")
    with psycopg.connect(run.dsn(peer), autocommit=True) as c:
        c.execute("create extension if not exists pg_stat_statements")
    call(peer, sett, "setup")


def reset(peer):
    with psycopg.connect(run.dsn(peer), autocommit=True) as c:
        for sql in RESET[peer]:
            c.execute(sql)
        c.execute("checkpoint")


def drain(peer, sett, n, k, board):
    reset(peer)
    bulk = call(peer, sett, "bulk", n)
    run.Workers = Workers
    result = run.drain(peer, sett, STEPS * n, k, board, 90)
    return result | {"start_rate": bulk["rate"]}


def latency(peer, sett, n, board):
    reset(peer)
    board.clear()
    w = Workers(peer, sett, 1)
    try:
        w.go()
        time.sleep(2)
        rows = call(peer, sett, "latency", n)["rows"][2:]
    finally:
        w.stop()
    d = [(end - a) / 1e6 for a, _, end in rows]
    return {"n": len(d), "run_p50": run.pct(d, 50), "run_p90": run.pct(d, 90), "step_p50": run.pct(d, 50) / STEPS}


def main():
    out, rounds, runs = sys.argv[1], int((sys.argv[2:3] or ["3"])[0]), int((sys.argv[3:4] or ["1000"])[0])
    peers = os.environ.get("PEERS", "tenure,dbos,absurd").split(",")
    board = Board(create=True)
    os.makedirs(f"{run.ROOT}/log", exist_ok=True)
    sett = {p: {**BEST[p], "peer": p} for p in peers}
    for p in peers:
        create(p, sett[p])
    found = {}
    for r in range(rounds):
        for what in ("drain1", "drain2", "latency"):
            for p in peers[r % len(peers) :] + peers[: r % len(peers)]:
                try:
                    res = (
                        latency(p, sett[p], 22, board)
                        if what == "latency"
                        else drain(p, sett[p], runs, int(what[-1]), board)
                    )
                except Exception as error:
                    res = {"error": f"{type(error).__name__}: {error}"[:1500]}
                found.setdefault((what, p), []).append(res)
                with open(out, "a") as f:
                    f.write(
                        json.dumps({"peer": p, "what": what, "round": r, "result": res, "load1": os.getloadavg()[0]})
                        + "\n"
                    )
                keep = (
                    "rate",
                    "start_rate",
                    "ok",
                    "stmts_per_job",
                    "db_ms_per_job",
                    "pg_cpu_ms_per_job",
                    "py_cpu_ms_per_job",
                    "run_p50",
                    "run_p90",
                    "error",
                )
                print(
                    what,
                    p,
                    {k: round(v, 3) if isinstance(v, float) else v for k, v in res.items() if k in keep},
                    "load",
                    os.getloadavg()[0],
                    flush=True,
                )
    for (what, p), results in found.items():
        key = "run_p50" if what == "latency" else "rate"
        print(f"{what:8} {p:7} median {key}: {st.median([x[key] for x in results if key in x] or [float('nan')]):.1f}")


if __name__ == "__main__":
    main()
