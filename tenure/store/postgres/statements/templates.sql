-- Templates by code, all where no codes are given.
select uid, tenant, code, properties_schema from tenure.template
where tenant = %(tenant)s and (%(codes)s::text[] is null or code = any (%(codes)s)) order by code
