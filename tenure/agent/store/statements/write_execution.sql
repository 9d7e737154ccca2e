-- Writes all of an execution that can change.
update executions
   set stage = :stage, stage_at = :stage_at, job_id = :job_id, slurm_job_id = :slurm_job_id, partition = :partition,
       qos = :qos, restarts = :restarts, reported = :reported, reported_at = :reported_at, cancel_at = :cancel_at,
       absent_at = :absent_at, problem = :problem, outcome = :outcome, attempts = :attempts, not_before = :not_before
 where execution_id = :execution_id
