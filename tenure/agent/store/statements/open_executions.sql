-- All executions that have not ended, in the order in which they came.
select * from executions where stage <> 'over' order by number
