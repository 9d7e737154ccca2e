-- What is already known under these submit keys or external references, with the first fact of each.
-- Unique index look-ups.
select i.ordinal - 1 as item, s.submit_key is not distinct from i.key and i.key is not null as same_key, s.uid as subject, f.*, f.state::text as state
from unnest(%(keys)s::text[], %(refs)s::text[]) with ordinality as i(key, ref, ordinal),
lateral (
    select s.uid, s.submit_key from tenure.subject s where s.tenant = %(tenant)s and s.submit_key = i.key
    union all
    select s.uid, s.submit_key from tenure.subject s where s.tenant = %(tenant)s and s.external_ref = i.ref
    limit 1) s,
lateral (select f.* from tenure.fact f where f.thread = s.uid and f.seq = 1 offset 0) f
