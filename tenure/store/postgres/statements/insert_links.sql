-- Edges between subjects, e.g. from parent to child.
insert into tenure.link (parent, child, relation, tenant, created_at)
select p.parent, p.child, %(relation)s, %(tenant)s, tenure.now()
from unnest(%(parents)s::bigint[], %(children)s::bigint[]) as p(parent, child)
where exists (select from tenure.subject s where s.uid = p.parent and s.tenant = %(tenant)s)
on conflict do nothing
returning parent
