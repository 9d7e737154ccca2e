-- The edges at one object, both ways; of a queue's or worker's many attempts those at the newest thousand.
-- Key look-ups: a subject's attempts are found through its facts. The relations are those of the view `lineage`.
with me as materialized (
    select %(uid)s::bigint as uid,
        exists (select from tenure.queue q where q.uid = %(uid)s) as is_queue,
        exists (select from tenure.worker w where w.uid = %(uid)s) as is_worker),
near as materialized (
    select %(uid)s::bigint & ~1::bigint as uid
    union select f.lease from tenure.fact f where f.thread = %(uid)s and f.lease is not null
    union select (f.data ->> 'record')::bigint - 1 from tenure.fact f where f.thread = %(uid)s and f.data ->> 'record' ~ '^[0-9]{1,18}$'
    union select d.attempt from tenure.dead_letter d where d.uid = %(uid)s
    union select a.uid from me cross join lateral (
        select a.uid from tenure.attempt a where me.is_worker and a.worker = me.uid order by a.uid desc limit 1000) a
    union select a.uid from me cross join lateral (
        select a.uid from tenure.attempt a where me.is_queue and a.queue = me.uid order by a.uid desc limit 1000) a),
attempt as materialized (
    select a.uid, a.subject, a.queue, a.worker, a.lease_status is not null as leased
    from near
    cross join lateral (
        select a.uid, a.subject, a.queue, a.worker, a.lease_status
        from tenure.attempt a where a.uid = near.uid and a.tenant = %(tenant)s offset 0) a),
hold as materialized (
    select h.* from tenure.hold h where h.uid = %(uid)s or h.subject = %(uid)s
    union select h.* from me cross join lateral (
        select h.* from tenure.hold h where me.is_queue and h.queue = me.uid order by h.uid desc limit 1000) h
    union select h.* from me cross join lateral (
        select h.* from tenure.hold h where me.is_worker and h.worker = me.uid order by h.uid desc limit 1000) h),
letter as materialized (
    select d.* from tenure.dead_letter d where d.uid = %(uid)s or d.subject = %(uid)s
    union select d.* from attempt a join tenure.dead_letter d on d.subject = a.subject and d.attempt = a.uid
    union select d.* from me cross join lateral (
        select d.* from tenure.dead_letter d where me.is_queue and d.queue = me.uid order by d.uid desc limit 1000) d),
edge as (
    select v.parent, v.child, v.relation
    from attempt a
    cross join lateral (values
        (a.leased, a.subject, a.uid, 'execution_subject_lease'), (a.leased, a.worker, a.uid, 'execution_worker_lease'),
        (a.leased, a.queue, a.uid, 'execution_queue_lease'), (a.leased, a.uid, a.uid + 1, 'execution_lease_record'),
        (true, a.subject, a.uid + 1, 'execution_subject_record'), (true, a.worker, a.uid + 1, 'execution_worker_record'),
        (true, a.queue, a.uid + 1, 'execution_queue_record')) as v(there, parent, child, relation)
    where v.there
    union all
    select v.parent, h.uid, v.relation
    from hold h
    cross join lateral (values
        (h.subject, 'execution_subject_hold'), (h.queue, 'execution_queue_hold'), (h.worker, 'execution_actor_hold')) as v(parent, relation)
    where h.tenant = %(tenant)s
    union all
    select v.parent, d.uid, v.relation
    from letter d
    cross join lateral (values
        (d.subject, 'execution_subject_dead_letter'), (d.queue, 'execution_queue_dead_letter'),
        (d.attempt + 1, 'execution_record_dead_letter')) as v(parent, relation)
    where d.tenant = %(tenant)s
    union all
    select l.parent, l.child, l.relation from tenure.link l
    where l.tenant = %(tenant)s and (l.parent = %(uid)s or l.child = %(uid)s))
select parent, child, relation collate "C" as relation from edge
where parent is not null and %(uid)s in (parent, child)
order by parent, child, relation collate "C"
