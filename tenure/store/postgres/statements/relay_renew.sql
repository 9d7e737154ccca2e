-- Renews the leases of a relay that live; answers with those that it still has.
-- Key of `runtime_lease`.
update tenure.runtime_lease l set renewed_at = tenure.now(), expires_at = tenure.now() + make_interval(secs => %(ttl)s)
where l.name = any (%(names)s) and l.holder = %(holder)s and l.expires_at > tenure.now()
returning l.name
