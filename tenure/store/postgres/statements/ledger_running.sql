-- The number of the oldest transaction that may still be running: all with a lower one have ended.
-- Reads the snapshot alone.
select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as oldest_running
