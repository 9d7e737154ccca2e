-- Listens for what answers a standing claim, and shows for as long as this session lasts that somebody does.
select tenure.listen_on(%(channel)s), pg_advisory_lock(%(spot)s)
