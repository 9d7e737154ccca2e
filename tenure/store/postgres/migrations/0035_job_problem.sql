-- What somebody must look at with a job of a node: in the way of that job alone, unlike what is wrong with its scheduler.
alter table management_node add column job_problem text;
