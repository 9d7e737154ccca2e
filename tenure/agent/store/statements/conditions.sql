-- All that the agent has said of itself.
select * from conditions
