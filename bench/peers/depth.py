"""Does Tenure get slower with what lies in its tables? Drains of 20,000 jobs with nothing else, with 1,000,000 more
waiting behind them in the same queue, with 1,000,000 finished, and with 1,000,000 scheduled for later; three rounds each.

usage: depth.py OUT.jsonl [rounds]
"""
import json, statistics, sys, time
from mkplan import BEST
from prefill import PREFILL
from run import call, recreate
from sampling import connect, drain_sampled

N = 20_000
WAITING = """set session_replication_role = replica;
  create temp table later as select nextval('tenure.uid') as uid, g as i, now() as t, sha256(int8send(g)) as h from generate_series(1, {n}) g;
  insert into tenure.subject (uid, tenant, template, properties, created_at)
    select o.uid, q.tenant, t.uid, jsonb_build_object('i', i), o.t from later o, tenure.queue q join tenure.template t on t.code = 'task/job/1.0' where q.queue_key = 'bench';
  insert into tenure.execution (uid, tenant, created_at, ready_at, priority, next_queue_key, seq, revision, state, head, deferred)
    select o.uid, q.tenant, o.t, {ready}, -1, 'bench', 1, 1, 'READY', h, {deferred} from later o, tenure.queue q where q.queue_key = 'bench';
  insert into tenure.fact (thread, tenant, at, seq, revision, state, type, actor, queue_key, hash)
    select o.uid, q.tenant, o.t, 1, 1, 'READY', 'subject.submitted', 'bench:depth', 'bench', h from later o, tenure.queue q where q.queue_key = 'bench';
  drop table later; set session_replication_role = origin"""


def lay(c, what, n):
    if what == "waiting":
        c.execute(WAITING.format(n=n, ready="null", deferred="false"))
    if what == "future":
        c.execute(WAITING.format(n=n, ready="now() + interval '10 days'", deferred="true"))
    if what == "finished":
        c.execute(PREFILL["tenure"](n)[0])
    c.execute("vacuum analyze")


def main():
    outp, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    base = None
    for what in ("nothing", "waiting", "finished", "future"):
        recreate("tenure", {})
        with connect("tenure") as c:
            lay(c, what, 1_000_000)
        rates = []
        for _ in range(rounds):
            call("tenure", {}, "bulk", N)
            with connect("tenure") as c:
                c.execute("checkpoint")
            points = drain_sampled("tenure", BEST["tenure"], N, every=0.02)
            begun = next(t for t, d in points if d > 0)
            rates.append(points[-1][1] / (points[-1][0] - begun))
        median = statistics.median(rates)
        base = base or median
        r = dict(beside=what, rates=rates, median=median, ratio=median / base)
        with open(outp, "a") as f:
            f.write(json.dumps(r) + "\n")
        print(f"1,000,000 {what:9} {median:8.0f} jobs/s   x {r['ratio']:.2f}   {[round(x) for x in rates]}", flush=True)


if __name__ == "__main__":
    main()
