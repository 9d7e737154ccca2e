"""A held horizon: some unrelated transaction stays open for the whole run, so VACUUM can clean nothing.

usage: horizon.py OUT.jsonl [peer=jobs ...]      e.g. horizon.py out.jsonl tenure=300000 pgqueuer=300000 oban=40000
Prints the rate in the first and in the last tenth of the jobs.
"""

import json
import sys

import psycopg
from mkplan import BEST
from run import call, dsn, recreate
from sampling import connect, drain_sampled, rate

DEFAULT = {"tenure": 300_000, "pgqueuer": 300_000, "oban": 40_000}


def main():
    outp = sys.argv[1]
    jobs = dict(DEFAULT)
    if len(sys.argv) > 2:
        jobs = {a.split("=")[0]: int(a.split("=")[1]) for a in sys.argv[2:]}
    for peer, n in jobs.items():
        sett = BEST[peer]
        recreate(peer, sett)
        left = n
        while left > 0:
            call(peer, sett, "bulk", min(left, 50_000))
            left -= 50_000
        with connect(peer) as c:
            c.execute("vacuum analyze")
        holder = psycopg.connect(dsn(peer))
        holder.execute("set transaction isolation level repeatable read")
        holder.execute("select count(*) from pg_class").fetchone()
        try:
            points = drain_sampled(peer, sett, n)
        finally:
            holder.close()
        r = {
            "peer": peer,
            "jobs": n,
            "done": points[-1][1],
            "first": rate(points, 0.0, 0.1),
            "last": rate(points, 0.9, 1.0),
            "points": points,
        }
        r["kept"] = r["last"] / r["first"] if r["first"] else None
        with open(outp, "a") as f:
            f.write(json.dumps(r) + "\n")
        print(
            f"{peer:14} {r['done']:>7} jobs   first tenth {r['first']:7.0f}/s   last tenth {r['last']:7.0f}/s   "
            f"kept {r['kept']:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
