-- Runs by the name of their workflow and their key.
-- Unique index look-ups.
select i.ordinal - 1 as item, r.*
from unnest(%(names)s::text[], %(keys)s::text[]) with ordinality as i(name, key, ordinal),
lateral (select r.* from tenure.run r where r.tenant = %(tenant)s and r.name = i.name and r.run_key = i.key offset 0) r
