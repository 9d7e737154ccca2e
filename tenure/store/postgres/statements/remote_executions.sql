-- The executions of submissions, in order of number.
-- Primary key, one range for each submission.
select e.* from tenure.remote_execution e where e.submission = any (%(submissions)s) order by e.submission, e.number
