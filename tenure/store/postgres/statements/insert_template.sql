-- A new template with the fact on its tenant's thread that tells of it.
with born as (
    insert into tenure.template (uid, tenant, code, properties_schema, created_at)
    values (%(uid)s, %(tenant)s, %(code)s, %(schema)s::jsonb, %(at)s)),
told as (
    insert into tenure.fact (thread, seq, tenant, at, type, actor, data, hash)
    values (%(tenant)s, %(seq)s, %(tenant)s, %(at)s, 'template.defined', %(actor)s, %(data)s::jsonb, %(hash)s))
update tenure.tenant set seq = %(seq)s, head = %(hash)s where uid = %(tenant)s
