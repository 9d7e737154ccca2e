-- The executions of one stage that are due, in the order in which they came; by executions_by_stage. What is due more than
-- ten minutes from now, which is longer than any pause, was postponed before the clock was set back.
select * from executions
 where stage = :stage and (not_before <= :now or not_before > :now + 600)
 order by number limit :at_most
