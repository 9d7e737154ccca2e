-- Drops the keys of a subscription but one.
-- Key of `signing_key`.
update tenure.signing_key k set key = null, dropped_at = tenure.now()
where k.subscription = %(subscription)s and k.dropped_at is null and k.number <> %(kept)s
