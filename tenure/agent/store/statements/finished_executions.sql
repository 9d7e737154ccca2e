-- Executions that have ended and owe nothing to the server, since before a time.
select e.* from executions e
 where e.stage = 'over' and e.stage_at < :before
   and not exists (select 1 from outbox o where o.execution_id = e.execution_id and o.standing = 'waiting')
 order by e.number limit :at_most
