-- The oldest transaction that may still be running, and the first that had not begun.
-- Reads the snapshot alone.
select pg_snapshot_xmin(s)::text::bigint as oldest_running, pg_snapshot_xmax(s)::text::bigint as first_unborn
from pg_current_snapshot() s
