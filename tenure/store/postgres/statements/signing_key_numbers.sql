-- The numbers of all keys that a subscription ever had, and which of them it signs with.
-- Key of `signing_key`.
select k.number, k.dropped_at is null as used from tenure.signing_key k where k.subscription = %(subscription)s order by k.number
