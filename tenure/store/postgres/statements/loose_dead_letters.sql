-- Dead letters that lack one of their three edges in the lineage, or whose edge leads nowhere.
-- One pass over the dead letters with key look-ups.
select d.subject as thread, d.uid as dead_letter,
    array_remove(array[case when s.there is null then 'execution_subject_dead_letter' end,
        case when q.there is null then 'execution_queue_dead_letter' end,
        case when a.there is null then 'execution_record_dead_letter' end], null) as missing
from tenure.dead_letter d
left join lateral (select true as there from tenure.execution e where e.uid = d.subject offset 0) s on true
left join lateral (select true as there from tenure.queue q where q.uid = d.queue offset 0) q on true
left join lateral (select true as there from tenure.attempt a where a.uid = d.attempt and a.subject = d.subject offset 0) a on true
where (%(tenant)s::bigint is null or d.tenant = %(tenant)s) and (s.there and q.there and a.there) is not true
order by d.uid limit %(limit)s
