-- Ends the leases of a relay that stops, so that another can lead at once.
-- Key of `runtime_lease`.
update tenure.runtime_lease l set expires_at = tenure.now()
where l.name = any (%(names)s) and l.holder = %(holder)s and l.expires_at > tenure.now()
