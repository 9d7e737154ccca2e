-- An execution that is forgotten: it ended long ago, and the server knows.
delete from executions where execution_id = :execution_id
