-- Sends parked events again, because somebody says that the reason is gone.
update outbox set standing = 'waiting', not_before = 0, done_at = null where standing = 'parked'
