-- When the next execution of a stage is due; by executions_by_stage.
select min(not_before) as at from executions where stage = :stage
