-- What operators look for. None of these indexes is touched by submitting without a name, claiming, completing or renewing:
-- what they hold is rare, or is written where somebody gave it a name.

-- Leases that ended in any way but by completion, newest first. By `-uid`, so that no plan walks the primary key instead.
create index lease_unfinished on attempt (tenant, lease_status, (-uid))
    where lease_status in ('RELEASED', 'EXPIRED', 'ABANDONED', 'CANCELED');

-- Names by their beginning. With the uid, so that the newest are found in the index alone.
create index subject_name on subject (tenant, name text_pattern_ops, uid) where name is not null;

-- Holds and dead letters, newest first: those that wait, and those of a queue.
drop index hold_active;
create index hold_active on hold (tenant, uid) where status = 'ACTIVE';
create index hold_queue on hold (queue, uid) where queue is not null;
drop index dead_letter_open;
create index dead_letter_open on dead_letter (tenant, uid) where resolution_state = 'OPEN';
create index dead_letter_queue on dead_letter (queue, uid) where queue is not null;
