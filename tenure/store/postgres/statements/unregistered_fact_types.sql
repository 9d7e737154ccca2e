-- Types of facts that the registry does not know, with the first fact of each.
-- One pass over the facts.
select distinct on (f.type) f.type, f.thread, f.seq
from tenure.fact f
where (%(tenant)s::bigint is null or f.tenant = %(tenant)s) and not exists (select from tenure.fact_type t where t.type = f.type)
order by f.type, f.position limit %(limit)s
