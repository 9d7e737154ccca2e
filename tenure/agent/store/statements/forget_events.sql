-- The events of an execution that is forgotten.
delete from outbox where execution_id = :execution_id
