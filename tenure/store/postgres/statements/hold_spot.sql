-- Shows for as long as this session lasts that somebody listens for what answers a standing claim.
select pg_advisory_lock(%(spot)s)
