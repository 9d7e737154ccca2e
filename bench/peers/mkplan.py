"""One bracketed round (argv[1]): every peer measurement has the raw limit run right before it and right after it,
so that the ratio to the limit is taken over the same half minute of a shared machine."""
import json, sys
r = int(sys.argv[1]) if __name__ == "__main__" else 1
BEST = {"procrastinate": {"concurrency": 10, "pool": 10}, "pgqueuer": {"batch": 1000}, "oban": {"limit": 500, "pool": 10},
        "chancy": {"concurrency": 1000}, "dbos": {"poll": 0.1}, "absurd": {"concurrency": 1000}, "tenure": {"batch": 2500, "concurrency": 2500, "prefetch": 2500}}
N = {"procrastinate": 1500, "pgqueuer": 10000, "oban": 5000, "chancy": 5000, "dbos": 4000, "absurd": 3000, "tenure": 10000}
ENQ = {"dbos": {"bulk": "sql"}, "absurd": {"bulk": "sql"}}
P = []


def add(peer, what, n, tag, **kw):
    P.append(dict(peer=peer, what=what, n=n, tag=f"b{r}.{tag}", **kw))


def lim(tag, w=1):
    add("raw", "drain", 10000, tag + ".L2", set={"kind": "l2"}, workers=w)
    add("raw", "drain", 500, tag + ".L1", set={"kind": "l1"}, workers=w)


peers = list(BEST)
peers = peers[r % len(BEST):] + peers[:r % len(BEST)]
for w in (1, 2):
    for p in peers:
        lim(f"d{w}.{p}.pre", w)
        add(p, "drain", N[p], f"d{w}.{p}.x", set=BEST[p], enq=ENQ.get(p), workers=w)
        lim(f"d{w}.{p}.post", w)
for p in peers:
    add("raw", "bulk", 10000, f"bulk.{p}.pre", set={"bulk": "unnest"})
    if p in ("dbos", "absurd"):
        add(p, "bulk", 3000, f"bulk.{p}.x", set={"bulk": "tx"})
        add("raw", "bulk", 10000, f"bulk.{p}.post", set={"bulk": "unnest"})
        add(p, "bulk", 10000, f"bulk.{p}-sql.x", set={"bulk": "sql"})
        add("raw", "bulk", 10000, f"bulk.{p}-sql.post", set={"bulk": "unnest"})
    else:
        add(p, "bulk", 10000, f"bulk.{p}.x")
        add("raw", "bulk", 10000, f"bulk.{p}.post", set={"bulk": "unnest"})
for p in peers:
    add("raw", "single", 300, f"single.{p}.pre")
    add(p, "single", 300, f"single.{p}.x")
    add("raw", "single", 300, f"single.{p}.post")
if r <= 3:
    for p in peers:
        add("raw", "latency", 60, f"lat.{p}.pre", set={"kind": "listen"})
        add(p, "latency", 200, f"lat.{p}.x", set=BEST[p])
if __name__ == "__main__":
    print(json.dumps(P))
