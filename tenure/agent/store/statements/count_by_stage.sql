-- How many executions are in each stage; by executions_by_stage.
select stage, count(*) as count from executions group by stage
