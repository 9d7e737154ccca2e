-- Writes down an execution that was given to this node; what is there already stays.
insert into executions (execution_id, work, stage, stage_at, received_at)
values (:execution_id, :work, 'received', :at, :at)
on conflict (execution_id) do nothing
