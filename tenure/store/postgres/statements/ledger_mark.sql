-- A fresh transaction number: whatever has one already has a lower one.
-- Draws it; the snapshot would not do, whose upper end is the newest transaction that has ended, not that has begun.
select pg_current_xact_id()::text::bigint as mark
