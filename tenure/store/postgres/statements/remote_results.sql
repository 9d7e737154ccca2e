-- Where the executions of a submission left what they wrote, as events told, in order.
-- Primary key: one range, the thread of the submission.
select (f.data ->> 'number')::int as number, f.data -> 'result_ref' as result_ref
from tenure.fact f
where f.thread = %(submission)s and f.type = 'execution_event.received' and f.data -> 'result_ref' is not null
order by f.seq
