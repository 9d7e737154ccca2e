-- How long each kind is kept for a tenant, and how far it was cleaned.
-- Keys of `retention` and `cleared`.
select k.kind, coalesce(r.days, tenure.retention_default(k.kind)) as days, r.set_seq, c.until as cleared_until,
    coalesce(c.removed, 0) as cleared
from unnest(array['inbox', 'delivery']) k(kind)
left join tenure.retention r on r.tenant = %(tenant)s and r.kind = k.kind
left join tenure.cleared c on c.tenant = %(tenant)s and c.kind = k.kind
