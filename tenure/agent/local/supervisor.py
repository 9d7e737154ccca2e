"""Stays with one local job from beginning to end, whatever becomes of the agent. Standard library only: it starts fast.

``python -I -S supervisor.py FOLDER`` where FOLDER holds ``job.json``. What it leaves there is all that is known of the job:

- ``lock``: locked as long as a supervisor is with the job;
- ``pid.json``: the job was begun; written before, so that it is begun once at most;
- ``cancel``: made by whoever wants it ended;
- ``end.json``: how it ended; written last.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

LOCK, BEGUN, CANCEL, END, JOB = "lock", "pid.json", "cancel", "end.json", "job.json"
#: Stands in the environment of all of a job's processes, so that they are known as the job's.
MARK = "TENURE_LOCAL_JOB"
_LOOK_SECONDS, _MEMORY_SECONDS, _AGAIN_SECONDS = 0.1, 0.5, 0.5
_SUBREAPER, _DEATH_SIGNAL = 36, 1
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PROC = Path("/proc")


def write_durably(path: Path, document: Mapping[str, Any]) -> None:
    """Write a JSON file so that it is there whole, or not at all, whatever happens."""
    new = path.with_name(f"{path.name}.new")
    with new.open("w", encoding="utf-8") as file:
        json.dump(document, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make durable which files a folder has."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def supervise(folder: Path) -> None:
    """Run the job of a folder, if nobody has."""
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    if (folder / BEGUN).exists() or (folder / END).exists():
        return
    job = json.loads((folder / JOB).read_text(encoding="utf-8"))
    if (folder / CANCEL).exists():
        write_durably(folder / END, {"reason": "canceled", "ended_at": time.time()})
        return
    _prctl(_SUBREAPER, 1)
    begun = time.time()
    write_durably(folder / BEGUN, {"supervisor": os.getpid(), "started_at": begun})
    try:
        child = _start(folder, job)
    except OSError as error:
        write_durably(folder / END, {"reason": "not_started", "said": str(error), "ended_at": time.time()})
        return
    reason, status = _watch(folder, job, child)
    _end_the_rest()
    _leave(
        folder / END,
        {
            "reason": reason, "started_at": begun, "ended_at": time.time(),
            "exit_code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        },
    )  # fmt: skip


def _leave(path: Path, document: Mapping[str, Any]) -> None:
    """Write down how it ended, however long the disk is full: nobody else knows it."""
    while True:
        try:
            write_durably(path, document)
        except FileNotFoundError:
            return  # its folder was removed: nobody will ask
        except OSError:
            time.sleep(_AGAIN_SECONDS)
        else:
            return


def _start(folder: Path, job: Mapping[str, Any]) -> int:
    """The job's first process, in a session of its own. Raises OSError where it cannot be started."""
    work = Path(job["folder"])
    out = os.open(work / "stdout", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
    err = os.open(work / "stderr", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
    environment = {**job["environment"], MARK: str(folder)}
    told, tell = os.pipe()  # closed by exec; what is written to it says why there was none
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            try:
                os.setsid()
                _prctl(_DEATH_SIGNAL, signal.SIGKILL)
                os.chdir(work)
                for source, target in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (err, 2)):
                    os.dup2(source, target)
                _exec(job["script"], environment)
            except OSError as error:
                os.write(tell, str(error).encode())
        os._exit(127)
    for descriptor in (out, err, tell):
        os.close(descriptor)
    with open(told, "rb") as said:  # noqa: PTH123
        problem = said.read().decode()
    if problem:
        os.waitpid(child, 0)
        raise OSError(problem)
    return child


def _exec(script: str, environment: Mapping[str, str]) -> None:
    """Become the script. It is busy as long as some child that was forked while it was written has not become another."""
    for _ in range(100):
        try:
            os.execve(script, [script], environment)  # noqa: S606  # nosec B606
        except OSError as error:
            if error.errno != errno.ETXTBSY:
                raise
        time.sleep(0.02)
    os.execve(script, [script], environment)  # noqa: S606  # nosec B606


def _watch(folder: Path, job: Mapping[str, Any], child: int) -> tuple[str, int]:
    """Why it ended, and with which status. Its first process is the job: what that leaves behind does not count."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    reason, kill_at, weigh_at = "exited", float("inf"), 0.0
    deadline = time.monotonic() + job["walltime_seconds"]
    while True:
        status = _reap(child)
        if status is not None:
            return reason, status
        now = time.monotonic()
        if reason == "exited":
            if (folder / CANCEL).exists():
                reason = "canceled"
            elif now >= deadline:
                reason = "timeout"
            elif now >= weigh_at:
                weigh_at = now + _MEMORY_SECONDS
                if _above(job["memory_mib"] * 2**20):
                    reason, kill_at = "out_of_memory", now
            if reason in ("canceled", "timeout"):
                kill_at = now + job["grace_seconds"]
                _signal_all(signal.SIGTERM)
        if now >= kill_at:
            _signal_all(signal.SIGKILL)
        signal.sigtimedwait({signal.SIGCHLD}, _LOOK_SECONDS)


def _reap(child: int) -> int | None:
    """Take note of all processes that have ended; the status of ``child``, if it is among them."""
    found = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == child:
                found = status
    return found


def _end_the_rest() -> None:
    """Nothing of a job outlives it: also what went into another session is a descendant of ours."""
    deadline = time.monotonic() + 10
    while _signal_all(signal.SIGKILL) and time.monotonic() < deadline:
        _reap(0)
        time.sleep(0.01)


def end_orphans(folder: Path) -> int:
    """Kill what a supervisor left behind when it was killed itself; how many processes there were."""
    count, mark = 0, f"{MARK}={folder}".encode()
    for entry in os.scandir(_PROC):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if mark in (_PROC / entry.name / "environ").read_bytes().split(b"\0"):
                    os.kill(int(entry.name), signal.SIGKILL)
                    count += 1
    return count


def _signal_all(number: signal.Signals) -> int:
    """Signal each descendant; how many there were."""
    count = 0
    for pid in _descendants(os.getpid()):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
            count += 1
    return count


def _descendants(root: int) -> Iterator[int]:
    parents: dict[int, list[int]] = {}
    for entry in os.scandir(_PROC):
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                # The name of a program may hold spaces and brackets: what counts comes after the last one.
                fields = (_PROC / entry.name / "stat").read_text().rpartition(")")[2].split()
                if fields[0] != "Z":
                    parents.setdefault(int(fields[1]), []).append(int(entry.name))
    todo = parents.get(root, [])
    while todo:
        pid = todo.pop()
        yield pid
        todo.extend(parents.get(pid, ()))


def _above(limit: int) -> bool:
    """Whether its processes have more in memory than this. Pages that they share are told apart where that decides."""
    found = list(_descendants(os.getpid()))
    return sum(map(_resident, found)) > limit and sum(map(_proportional, found)) > limit


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * _PAGE
    return 0


def _proportional(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return _resident(pid)


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    supervise(Path(sys.argv[1]))
