-- A changed principal with the fact that tells of it; the hash of its password where that is set.
with told as (
    insert into tenure.fact (thread, seq, tenant, at, revision, type, actor, idempotency_key, trace_id, payload_hash, data, hash)
    values (%(uid)s, %(seq)s, %(tenant)s, %(at)s, %(revision)s, %(type)s, %(actor)s, %(idempotency_key)s, %(trace_id)s, %(payload_hash)s, %(data)s::jsonb, %(head)s))
update tenure.principal p
set display_name = %(display_name)s, roles = %(roles)s, status = %(status)s::tenure.principal_status, oidc_issuer = %(oidc_issuer)s, oidc_subject = %(oidc_subject)s, revision = %(revision)s, seq = %(seq)s, head = %(head)s
where p.uid = %(uid)s
returning p.uid
