-- One subscription that is in use, by name or uid, locked.
-- Index `subscription_name`, or the primary key.
select s.* from tenure.subscription s
where s.tenant = %(tenant)s and s.retired_at is null
    and case when %(uid)s::bigint is not null then s.uid = %(uid)s::bigint else s.name = %(name)s end
for no key update
