-- An event that found no answer, to be sent again.
update outbox set attempts = attempts + 1, not_before = :not_before, said = :said
 where event_id = :event_id and standing = 'waiting'
