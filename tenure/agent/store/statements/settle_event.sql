-- An event was taken in by the server, or parked: refused for good.
update outbox set standing = :standing, said = :said, attempts = attempts + 1, done_at = :at where event_id = :event_id
