-- A new access token with the fact that tells of it, in the thread of its principal.
with told as (
    insert into tenure.fact (thread, seq, tenant, at, revision, type, actor, idempotency_key, trace_id, payload_hash, data, hash)
    values (%(uid)s, %(seq)s, %(tenant)s, %(at)s, %(revision)s, %(type)s, %(actor)s, %(idempotency_key)s, %(trace_id)s, %(payload_hash)s, %(data)s::jsonb, %(head)s)),
known as (
    update tenure.principal p set seq = %(seq)s, head = %(head)s where p.uid = %(uid)s)
insert into tenure.access_token (uid, tenant, principal, digest, kind, label, roles, created_at, expires_at, created_seq)
values (%(access_token)s, %(tenant)s, %(uid)s, %(digest)s, %(kind)s::tenure.access_token_kind, %(label)s, %(roles)s, %(at)s, %(expires_at)s, %(seq)s)
returning uid
