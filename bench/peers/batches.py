"""Tenure and PgQueuer with the same batches: drains by two worker processes, interleaved.

usage: batches.py OUT.jsonl ROUNDS JOBS [BATCH ...]     (batches of 1000 and 2500 where none is named)

What a worker claims before its first job starts is not timed, so a rate grows with the batch as long as that is a good part
of the jobs; the rate from the start signal on, which counts that and each worker's start, stands beside it.
"""

import json
import statistics
import sys

from run import one, recreate
from shm import Board


def settings(peer, batch):
    return {"batch": batch, "concurrency": batch, "prefetch": batch} if peer == "tenure" else {"batch": batch}


def main():
    out, rounds, jobs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    batches = [int(batch) for batch in sys.argv[4:]] or [1000, 2500]
    board = Board(create=True)
    runs = [(peer, batch) for batch in batches for peer in ("tenure", "pgqueuer")]
    for peer in ("tenure", "pgqueuer"):
        recreate(peer, {})
    seen = {}
    for number in range(rounds):
        for peer, batch in runs if number % 2 == 0 else runs[::-1]:
            step = {"peer": peer, "what": "drain", "n": jobs, "workers": 2, "set": settings(peer, batch)}
            result = one(step, board)
            with open(out, "a") as file:
                file.write(json.dumps({**step, "result": result}) + "\n")
            seen.setdefault((peer, batch), []).append(result)
    print(f"{jobs} jobs, two worker processes, median of {rounds} rounds")
    for (peer, batch), results in seen.items():
        rate, from_go = (statistics.median(r[key] for r in results) for key in ("rate", "rate_from_go"))
        print(f"{peer:9} batches of {batch:5}: {rate:7.0f} jobs/s, {from_go:7.0f} from the start signal on")


if __name__ == "__main__":
    main()
