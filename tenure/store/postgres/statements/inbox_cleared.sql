-- Up to when the ids of messages of a tenant may be gone.
-- Key of `cleared`.
select c.until from tenure.cleared c where c.tenant = %(tenant)s and c.kind = 'inbox'
