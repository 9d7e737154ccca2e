-- Withdraws a worker's standing claim: when this is done, all that was taken under it is committed, and nothing more will be.
-- Locks the worker's row first, as whoever takes something for it does.
with w as materialized (
    select uid from tenure.worker where uid = %(worker)s and (tenant = %(tenant)s) is true for no key update)
delete from tenure.standing_claim s using w where s.worker = w.uid and s.spot = %(spot)s
