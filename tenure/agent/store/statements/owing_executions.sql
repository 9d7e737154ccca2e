-- Executions that have ended and whose events have not all been taken in.
select distinct o.execution_id from outbox o
  join executions e on e.execution_id = o.execution_id and e.stage = 'over'
 where o.standing = 'waiting'
