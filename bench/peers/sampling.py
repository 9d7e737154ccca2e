"""Drain with a sample of the score every half second: how the rate goes while a queue empties under some condition."""

import time

import psycopg
from run import Workers, dsn
from shm import Board


def drain_sampled(peer, sett, n, workers=1, limit_s=600, every=0.5):
    """Run workers until n jobs have started; return [(seconds, jobs)] since the first job."""
    board = Board(create=True)
    board.clear()
    w = Workers(peer, sett, workers)
    points = []
    try:
        t0 = w.go()
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            done = sum(board.counts())
            points.append(((time.monotonic_ns() - t0) / 1e9, done))
            if done >= n:
                break
            time.sleep(every)
    finally:
        w.stop()
    return points


def rate(points, low, high):
    """Jobs per second between the shares low and high of all jobs."""
    n = points[-1][1]
    inside = [(t, d) for t, d in points if low * n <= d <= high * n]
    if len(inside) < 2:
        return float("nan")
    (t1, d1), (t2, d2) = inside[0], inside[-1]
    return (d2 - d1) / (t2 - t1) if t2 > t1 else float("nan")


def connect(peer):
    return psycopg.connect(dsn(peer), autocommit=True)
