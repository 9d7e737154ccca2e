"""Driver: drives the peer scripts against one server and records one JSON line a measurement.

usage: run.py PLAN.json OUT.jsonl     (PLAN: list of rounds of {peer, what, n, set, workers, prefill, tag})
"""
import json, os, signal, subprocess, sys, time
import psycopg
from shm import Board
from prefill import PREFILL, RESET, UNFINISHED

ROOT, PORT = os.environ["BENCH_ROOT"], 55432
VENV = {p: f"{ROOT}/venv_{p}/bin/python" for p in ("procrastinate", "pgqueuer", "oban", "chancy", "dbos", "absurd", "tenure")}
VENV["raw"] = f"{ROOT}/base/bin/python"
ADMIN = f"host=127.0.0.1 port={PORT} user=postgres dbname=postgres"


def dsn(peer):
    return f"postgresql://postgres@127.0.0.1:{PORT}/bench_{peer}"


def env(peer, sett):
    return {**os.environ, "BENCH_DSN": dsn(peer), "BENCH_SET": json.dumps(sett or {}), "PYTHONWARNINGS": "ignore",
            "PYTHONDONTWRITEBYTECODE": "1"}


def pg_cpu():
    """CPU seconds of our whole server: postmaster, its reaped children and its live children (utime+stime)."""
    pm = int(open(f"{ROOT}/data/postmaster.pid").readline())
    tick = os.sysconf("SC_CLK_TCK")
    def stat(pid):
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    s = stat(pm)
    total = sum(map(int, s[11:15]))
    for pid in open(f"/proc/{pm}/task/{pm}/children").read().split():
        try:
            total += sum(map(int, stat(pid)[11:13]))
        except OSError:
            pass
    return total / tick


def call(peer, sett, *args, timeout=900):
    r = subprocess.run([VENV[peer], f"peer_{peer}.py", *map(str, args)], env=env(peer, sett), capture_output=True, text=True, timeout=timeout)
    if r.returncode:
        raise RuntimeError(f"{peer} {args}: {r.stderr[-1500:]}")
    lines = [l for l in r.stdout.splitlines() if l.startswith("{")]
    return json.loads(lines[-1]) if lines else {}


def recreate(peer, sett):
    with psycopg.connect(ADMIN, autocommit=True) as c:
        c.execute(f"drop database if exists bench_{peer} with (force)")
        c.execute(f"create database bench_{peer}")
    with psycopg.connect(dsn(peer), autocommit=True) as c:
        c.execute("create extension if not exists pg_stat_statements")
    call(peer, sett, "setup")


class Workers:
    def __init__(self, peer, sett, k):
        self.ps = [subprocess.Popen([VENV[peer], f"peer_{peer}.py", "worker", str(i)], env=env(peer, sett), stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=open(f"{ROOT}/log/worker_{peer}_{i}.err", "w"), text=True) for i in range(k)]
        for p in self.ps:
            while True:
                line = p.stdout.readline()
                if line.strip() == "READY":
                    break
                if not line:
                    raise RuntimeError(f"{peer} worker died: " + open(f"{ROOT}/log/worker_{peer}_{self.ps.index(p)}.err").read()[-1500:])

    def go(self):
        t = time.monotonic_ns()
        for p in self.ps:
            p.stdin.write("GO\n"); p.stdin.flush()
        return t

    def stop(self):
        for p in self.ps:
            p.send_signal(signal.SIGTERM)
        for p in self.ps:
            try:
                p.wait(1.5)
            except subprocess.TimeoutExpired:
                p.kill(); p.wait()


def drain(peer, sett, n, k, board, limit_s=120):
    board.clear()
    c = psycopg.connect(dsn(peer), autocommit=True)
    w = Workers(peer, sett, k)
    c.execute("select pg_stat_statements_reset()")
    c.execute("select pg_stat_clear_snapshot()")
    lsn0 = c.execute("select pg_current_wal_insert_lsn()").fetchone()[0]
    x0 = c.execute("select xact_commit from pg_stat_database where datname = current_database()").fetchone()[0]
    pc0 = pg_cpu()
    t0 = w.go()
    end = time.monotonic() + limit_s
    polls = 0
    ok = True
    try:
        while sum(board.counts()) < n:
            time.sleep(0.004)
            if time.monotonic() > end:
                ok = False
                break
        while ok:
            polls += 1
            if not c.execute(UNFINISHED[peer]).fetchone()[0]:
                break
            time.sleep(0.004)
            if time.monotonic() > end:
                ok = False
        t1 = time.monotonic_ns()
        pc1 = pg_cpu()
        lsn1 = c.execute("select pg_current_wal_insert_lsn()").fetchone()[0]
        wal = c.execute("select %s::pg_lsn - %s::pg_lsn", (lsn1, lsn0)).fetchone()[0]
        calls, xt = c.execute("""select coalesce(sum(calls),0), coalesce(sum(total_exec_time),0) from pg_stat_statements s
          where dbid = (select oid from pg_database where datname = current_database())
            and query not like '%%pg_stat_%%' and query not like '%%bench_driver%%' and query not like '%%pg_lsn%%' and query not like '%%wal_insert_lsn%%'""").fetchone()
        top = c.execute("""select calls, rows, round(total_exec_time::numeric,1), left(regexp_replace(query,'\\s+',' ','g'),90) from pg_stat_statements s
          where dbid = (select oid from pg_database where datname = current_database()) and query not like '%%bench_driver%%' order by total_exec_time desc limit 6""").fetchall()
        x1 = c.execute("select xact_commit from pg_stat_database where datname = current_database()").fetchone()[0]
    finally:
        counts = board.counts()
        first = min([board.slot(i)[1] for i in range(k) if board.slot(i)[1]] or [t0])
        cpu = [board.slot(i)[3] / 1e9 for i in range(k)]
        w.stop()
        c.close()
    done = sum(counts)
    return dict(ok=ok, done=done, seconds=(t1 - first) / 1e9, rate=done / ((t1 - first) / 1e9), lag=(first - t0) / 1e9,
                rate_from_go=done / ((t1 - t0) / 1e9), wal_per_job=float(wal) / max(done, 1), stmts_per_job=float(calls) / max(done, 1),
                db_ms_per_job=float(xt) / max(done, 1), commits_per_job=(x1 - x0) / max(done, 1), cpu=cpu, pg_cpu_ms_per_job=1000 * (pc1 - pc0) / max(done, 1),
                py_cpu_ms_per_job=1000 * sum(cpu) / max(done, 1), counts=counts[:k],
                top=[list(map(str, t)) for t in top])


def pct(v, p):
    v = sorted(v)
    return v[min(len(v) - 1, int(round(p / 100 * (len(v) - 1))))]


def lat(peer, sett, n, board):
    board.clear()
    w = Workers(peer, sett, 1)
    try:
        w.go()
        time.sleep(3)
        rows = call(peer, sett, "latency", n)["rows"]
        time.sleep(2)
        d = [(board.start_of(i) - a) / 1e6 for i, (a, b) in enumerate(rows) if board.start_of(i)]
        d2 = [(board.start_of(i) - b) / 1e6 for i, (a, b) in enumerate(rows) if board.start_of(i)]
        enq = [(b - a) / 1e6 for a, b in rows]
    finally:
        w.stop()
    return dict(n=len(d), p50=pct(d, 50), p90=pct(d, 90), p99=pct(d, 99), max=max(d), after_commit_p50=pct(d2, 50), enq_p50=pct(enq, 50), enq_p99=pct(enq, 99))


def one(step, board):
    peer, what, n, sett = step["peer"], step["what"], step.get("n", 0), step.get("set") or {}
    pc = psycopg.connect(dsn(peer), autocommit=True) if what not in ("create",) else None
    if what == "create":
        recreate(peer, sett)
        return {}
    try:
        if step.get("reset", True):
            for s in RESET[peer]:
                pc.execute(s)
        if what in ("drain", "bulk", "single"):
            pc.execute("checkpoint")
        if what == "bulk" or what == "single":
            l0 = pc.execute("select pg_current_wal_insert_lsn()").fetchone()[0]
            r = call(peer, sett, what, n)
            r["wal_per_job"] = float(pc.execute("select pg_current_wal_insert_lsn() - %s::pg_lsn", (l0,)).fetchone()[0]) / n
            return r
        if what == "prefill":
            t = time.monotonic()
            for s in PREFILL[peer](n):
                pc.execute(s)
            return dict(n=n, seconds=time.monotonic() - t)
        if what == "drain":
            enq = step.get("enq") or {}
            call(peer, {**sett, **enq}, "bulk", n)
            if step.get("analyze"):
                pc.execute("vacuum analyze")
            return drain(peer, sett, n, step.get("workers", 1), board, step.get("limit", 120))
        if what == "latency":
            return lat(peer, sett, n, board)
    finally:
        pc.close()


def main():
    plan, outp = json.load(open(sys.argv[1])), sys.argv[2]
    board = Board(create=True)
    os.makedirs(f"{ROOT}/log", exist_ok=True)
    for step in plan:
        t = time.monotonic()
        try:
            r = one(step, board)
        except Exception as e:
            r = dict(error=f"{type(e).__name__}: {e}"[:1500])
        rec = {**step, "result": r, "wall": round(time.monotonic() - t, 2), "load1": os.getloadavg()[0]}
        with open(outp, "a") as f:
            f.write(json.dumps(rec) + "\n")
        show = {k: (round(v, 3) if isinstance(v, float) else v) for k, v in r.items() if k not in ("top",)}
        print(step.get("tag", ""), step["peer"], step["what"], step.get("n", ""), step.get("workers", ""), json.dumps(step.get("set") or {}), "->", json.dumps(show), flush=True)


if __name__ == "__main__":
    main()
