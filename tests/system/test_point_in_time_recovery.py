"""Backup and restore to a point in time, by the steps of docs/how-to/deploy.md, with PostgreSQL's own programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psycopg

from tenure import Tenure
from tenure.embedded import Cluster
from tenure.embedded.account import account_for
from tenure.store.postgres.migrate import migrate


def test_a_restore_to_a_point_in_time_brings_back_everything_up_to_it_and_verifies(
    make_cluster: Callable[..., Cluster], short_folder: Path
) -> None:
    cluster = make_cluster()
    account = account_for(cluster.data_dir)
    archive, backup = short_folder / "archive", short_folder / "base"
    for folder in (archive, backup):
        folder.mkdir()
        account.own(folder)

    with psycopg.connect(cluster.start(), autocommit=True) as connection:
        connection.execute("alter system set archive_mode = on")
        connection.execute(f"alter system set archive_command = 'test ! -f {archive}/%f && cp %p {archive}/%f'")
    cluster.stop()
    dsn = cluster.start()
    migrate(dsn)

    with Tenure(dsn, actor="user:ada") as client:
        client.define_queue("work", subject_template_codes=["thing/1.0"], lease_ttl_seconds=3600)
        client.submit_many([{"template": "thing/1.0", "queue_key": "work", "properties": {"n": n}} for n in range(40)])
        _complete(client, 10)

    host = psycopg.conninfo.conninfo_to_dict(dsn)
    subprocess.run(
        [cluster.installation.program("pg_basebackup"), "--pgdata", backup, "--checkpoint", "fast", "--host", str(host["host"]),
         "--port", str(host["port"]), "--username", str(host["user"])],
        check=True, cwd="/", timeout=60, user=account.uid if account.switch else None,
        group=account.gid if account.switch else None,
    )  # fmt: skip

    with Tenure(dsn, actor="user:ada") as client:
        _complete(client, 10)
        worker = client.register_worker("bench/2", max_concurrent_leases=5)
        held = client.claim(worker, "work", limit=1, start=True)[0]
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("select pg_create_restore_point('before the mistake')")
            for item in client.queue_items("work", limit=100):
                client.cancel(item.envelope.uid, reason="a mistake")
            connection.execute("select pg_switch_wal()")
    cluster.stop()

    restored = make_cluster()
    restored.start()  # settles where its folder is, for the account that it runs as
    restored.stop()
    pgdata = restored.status().pgdata
    shutil.rmtree(pgdata)
    shutil.copytree(backup, pgdata)
    with (pgdata / "postgresql.auto.conf").open("a") as settings:
        settings.write(f"archive_mode = off\nrestore_command = 'cp {archive}/%f %p'\n")
        settings.write("recovery_target_name = 'before the mistake'\nrecovery_target_action = promote\n")
    (pgdata / "recovery.signal").touch()
    for path in [pgdata, *pgdata.rglob("*")]:
        os.chown(path, account.uid, account.gid)
    pgdata.chmod(0o700)

    dsn = restored.start()
    _wait_until_promoted(dsn)
    with Tenure(dsn, actor="user:ada") as client:
        counts = client.metrics(["work"])[0]
        assert counts.queue_depth == 19
        assert counts.active_leases == 1
        assert client.verify().clean
        # What was under way at that point goes on: the holder's lease and its proof are as they were.
        assert client.complete(held, result={"after": "the restore"}).state == "COMPLETED"
        report = client.verify()
        assert report.clean
        assert report.subjects == 40


def _wait_until_promoted(dsn: str) -> None:
    deadline = time.monotonic() + 60
    with psycopg.connect(dsn, autocommit=True) as connection:
        while connection.execute("select pg_is_in_recovery()").fetchone() == (True,):
            assert time.monotonic() < deadline, "it is still recovering"
            time.sleep(0.05)


def _complete(client: Tenure, count: int) -> None:
    worker = client.register_worker("bench/1", max_concurrent_leases=100)
    for lease in client.claim(worker, "work", limit=count, start=True):
        client.complete(lease)
