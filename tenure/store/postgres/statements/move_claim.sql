-- Tells from where on a worker's live leases are to be looked for; nothing where it left no such claim.
-- Index `standing_claim_worker`.
update tenure.standing_claim s set live_after = %(live_after)s
where s.worker = %(worker)s and s.spot = %(spot)s and (s.tenant = %(tenant)s) is true
