-- Moves the cursor of a subscription on, under the lease with that token; nothing where another one leads by now.
-- Key of `worker_cursor`.
update tenure.worker_cursor c
set position = greatest(c.position, %(position)s), delivered = c.delivered + %(delivered)s, failed = c.failed + %(failed)s,
    failures = %(failures)s, failing_since = %(failing_since)s, failing_with = %(failing_with)s, resume_at = %(resume_at)s,
    succeeded_at = %(succeeded_at)s, moved_at = tenure.now()
where c.subscription = %(subscription)s and c.fence = %(fence)s
returning c.position
