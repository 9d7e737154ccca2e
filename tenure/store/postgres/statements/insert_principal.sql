-- A new principal with the fact that tells of it; nothing where the name or the outside identity is taken meanwhile.
with born as (
    insert into tenure.principal (uid, tenant, name, display_name, roles, status, oidc_issuer, oidc_subject, revision, created_at, seq, head)
    values (%(uid)s, %(tenant)s, %(name)s, %(display_name)s, %(roles)s, %(status)s::tenure.principal_status, %(oidc_issuer)s, %(oidc_subject)s, %(revision)s, %(created_at)s, %(seq)s, %(head)s)
    on conflict do nothing returning uid)
insert into tenure.fact (thread, seq, tenant, at, revision, type, actor, idempotency_key, trace_id, payload_hash, data, hash)
select uid, %(seq)s, %(tenant)s, %(at)s, %(revision)s, %(type)s, %(actor)s, %(idempotency_key)s, %(trace_id)s, %(payload_hash)s, %(data)s::jsonb, %(head)s
from born returning thread as uid
