-- One version of a workflow, or the newest that is not retired where none is named.
-- Unique index on tenant, name and version.
select w.* from tenure.workflow w
where w.tenant = %(tenant)s and w.name = %(name)s
    and case when %(version)s::int is null then w.retired_at is null else w.version = %(version)s end
order by w.version desc limit 1
