-- The keys that a subscription signs with, the newest first.
-- Key of `signing_key`.
select k.number, k.key from tenure.signing_key k
where k.subscription = %(subscription)s and k.dropped_at is null order by k.number desc
