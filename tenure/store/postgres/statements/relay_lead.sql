-- Takes the lease of a subscription that nobody holds, and fences its cursor; nothing where somebody holds it.
-- Key of `runtime_lease` and of `worker_cursor`.
with led as (
    insert into tenure.runtime_lease as l (name, tenant, holder, token, acquired_at, renewed_at, expires_at)
    values ('relay/' || %(subscription)s, %(tenant)s, %(holder)s, 1, tenure.now(), tenure.now(), tenure.now() + make_interval(secs => %(ttl)s))
    on conflict (name) do update
    set holder = excluded.holder, token = l.token + 1, acquired_at = excluded.acquired_at, renewed_at = excluded.renewed_at,
        expires_at = excluded.expires_at
    where l.expires_at <= tenure.now()
    returning l.token)
update tenure.worker_cursor c set fence = led.token from led where c.subscription = %(subscription)s returning c.fence
