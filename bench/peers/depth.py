"""Does Tenure get slower with what lies in its tables? Drains of 20,000 jobs with nothing else, with 1,000,000 more
waiting behind them in the same queue, with 1,000,000 finished, and with 1,000,000 scheduled for later. Each case has a
database of its own, and a round drains all four, so that what else the machine does falls on all of them alike: the ratio is
the median of each round's own.

usage: depth.py OUT.jsonl [rounds]
"""

import json
import statistics
import sys

import psycopg
from mkplan import BEST
from prefill import PREFILL
from run import ADMIN, call, recreate
from sampling import connect, drain_sampled

N = 20_000
BESIDE = ["nothing", "waiting", "finished", "future"]
WAITING = """set session_replication_role = replica;
  create temp table later as select nextval('tenure.uid') as uid, g as i, now() as t, sha256(int8send(g)) as h
    from generate_series(1, {n}) g;
  insert into tenure.subject (uid, tenant, template, properties, created_at)
    select o.uid, q.tenant, t.uid, jsonb_build_object('i', i), o.t
    from later o, tenure.queue q join tenure.template t on t.code = 'task/job/1.0' where q.queue_key = 'bench';
  insert into tenure.execution (uid, tenant, created_at, ready_at, priority, next_queue_key, seq, revision, state, head, deferred)
    select o.uid, q.tenant, o.t, {ready}, -1, 'bench', 1, 1, 'READY', h, {deferred}
    from later o, tenure.queue q where q.queue_key = 'bench';
  insert into tenure.fact (thread, tenant, at, seq, revision, state, type, actor, queue_key, hash)
    select o.uid, q.tenant, o.t, 1, 1, 'READY', 'subject.submitted', 'bench:depth', 'bench', h
    from later o, tenure.queue q where q.queue_key = 'bench';
  drop table later; set session_replication_role = origin"""


def lay(c, what, n):
    if what == "waiting":
        c.execute(WAITING.format(n=n, ready="null", deferred="false"))
    if what == "future":
        c.execute(WAITING.format(n=n, ready="now() + interval '10 days'", deferred="true"))
    if what == "finished":
        c.execute(PREFILL["tenure"](n)[0])
    c.execute("vacuum analyze")


def kept(what):
    return f"bench_tenure_{what}"


def administer(statement):
    with psycopg.connect(ADMIN, autocommit=True) as c:
        c.execute(statement)


def rename(old, new):
    administer(f"alter database {old} rename to {new}")


def drain():
    """Jobs per second of one drain of N jobs."""
    call("tenure", {}, "bulk", N)
    with connect("tenure") as c:
        c.execute("checkpoint")
    points = drain_sampled("tenure", BEST["tenure"], N, every=0.02)
    begun = next(t for t, d in points if d > 0)
    return points[-1][1] / (points[-1][0] - begun)


def main():
    outp, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    for what in BESIDE:
        recreate("tenure", {})
        with connect("tenure") as c:
            lay(c, what, 1_000_000)
        administer(f"drop database if exists {kept(what)} with (force)")
        rename("bench_tenure", kept(what))
    rates = {what: [] for what in BESIDE}
    for turn in range(rounds + 1):
        # Each is at each place of a round in turn; the first round warms.
        for what in BESIDE[turn % len(BESIDE) :] + BESIDE[: turn % len(BESIDE)]:
            rename(kept(what), "bench_tenure")
            rate = drain()
            rename("bench_tenure", kept(what))
            if turn:
                rates[what].append(rate)
    for what, measured in rates.items():
        ratios = [rate / base for rate, base in zip(measured, rates["nothing"], strict=False)]
        r = {
            "beside": what,
            "rates": measured,
            "median": statistics.median(measured),
            "ratios": ratios,
            "ratio": statistics.median(ratios),
        }
        with open(outp, "a") as f:
            f.write(json.dumps(r) + "\n")
        print(
            f"1,000,000 {what:9} {r['median']:8.0f} jobs/s   x {r['ratio']:.2f}   {[round(x) for x in measured]}   ",
            [round(x, 2) for x in ratios],
            flush=True,
        )
        administer(f"drop database {kept(what)} with (force)")


if __name__ == "__main__":
    main()
