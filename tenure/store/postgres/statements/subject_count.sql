-- How many subjects there are, about: as last analyzed, counted where that is not known or where it is one tenant's.
-- The catalog; else one scan.
select case when %(tenant)s::bigint is null and c.reltuples >= 100000 then c.reltuples::bigint else (
        select count(*) from tenure.execution e where %(tenant)s::bigint is null or e.tenant = %(tenant)s) end as subjects
from pg_class c where c.oid = 'tenure.execution'::regclass
