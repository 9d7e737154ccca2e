-- Which subjects stand for runnables that were planned before.
-- Insert only.
insert into tenure.runnable (subject, tenant, run, runnable_key, step, iteration, retry)
select p.subject, p.tenant, p.run, p.runnable_key, p.step, p.iteration, p.retry
from jsonb_to_recordset(%(runnables)s::jsonb) as p(subject bigint, tenant bigint, run bigint, runnable_key text, step text, iteration int, retry jsonb)
