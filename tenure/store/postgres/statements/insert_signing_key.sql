-- Adds a key that events are signed with, and drops those that are older than the one before it.
-- Key of `signing_key`.
with dropped as (
    update tenure.signing_key k set key = null, dropped_at = tenure.now()
    where k.subscription = %(subscription)s and k.dropped_at is null and k.number <> %(kept)s)
insert into tenure.signing_key (subscription, number, tenant, key, created_at)
values (%(subscription)s, %(number)s, %(tenant)s, %(key)s, tenure.now())
