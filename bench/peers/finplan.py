"""(f) finished rows: per peer a fresh database, drains at 0, 100k and 1M finished jobs, each bracketed by L2."""
import json, sys
BEST = {"procrastinate": {"concurrency": 10, "pool": 10}, "pgqueuer": {"batch": 1000}, "oban": {"limit": 500, "pool": 10},
        "chancy": {"concurrency": 1000}, "dbos": {"poll": 0.1}, "absurd": {"concurrency": 1000}, "tenure": {"batch": 1000, "concurrency": 1500, "prefetch": 1500}, "raw": {"kind": "l2"}}
N = {"procrastinate": 800, "pgqueuer": 10000, "oban": 4000, "chancy": 4000, "dbos": 3000, "absurd": 2000, "tenure": 10000, "raw": 10000}
ENQ = {"dbos": {"bulk": "sql"}, "absurd": {"bulk": "sql"}}
P = []
only = sys.argv[1:] or ["raw", "oban", "chancy", "absurd", "dbos", "procrastinate", "pgqueuer", "tenure"]
for p in only:
    P.append(dict(peer=p, what="create", n=0, tag=f"f.{p}", set={"poll": 0.1}))
    for level, extra in ((0, 0), (100_000, 100_000), (1_000_000, 900_000)):
        if extra:
            P.append(dict(peer=p, what="prefill", n=extra, tag=f"f.{p}.{level}.prefill", reset=False))
        for k in range(3):
            if p != "raw":
                P.append(dict(peer="raw", what="drain", n=10000, tag=f"f.{p}.{level}.L2", set={"kind": "l2"}, workers=1))
            P.append(dict(peer=p, what="drain", n=N[p], tag=f"f.{p}.{level}.x", set=BEST[p], enq=ENQ.get(p), workers=1, reset=False))
        if p != "raw":
            P.append(dict(peer="raw", what="drain", n=10000, tag=f"f.{p}.{level}.L2", set={"kind": "l2"}, workers=1))
    P.append(dict(peer=p, what="create", n=0, tag=f"f.{p}.drop", set={"poll": 0.1}))
print(json.dumps(P))
