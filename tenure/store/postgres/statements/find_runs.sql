-- Runs by the name of their workflow and their key.
-- Unique index look-ups: the key leads there, and whatever else could choose another index is wrapped.
select i.ordinal - 1 as item, r.*
from unnest(%(names)s::text[], %(keys)s::text[]) with ordinality as i(name, key, ordinal),
lateral (select r.* from tenure.run r where r.run_key = i.key and r.name || '' = i.name and r.tenant + 0 = %(tenant)s offset 0) r
