-- One execution; by its unique id.
select * from executions where execution_id = :execution_id
