-- What was refused on one subject, newest first, below a uid.
-- Index `refusal_subject`, walked backwards; compared as a row, so that no plan walks through those of others by the primary key.
select r.* from tenure.refusal r
where r.subject is not null and (r.subject, r.uid) < (%(subject)s::bigint, %(before)s::bigint) and (r.subject, r.uid) > (%(subject)s::bigint, 0)
    and r.tenant = %(tenant)s
order by r.subject desc, r.uid desc limit %(limit)s
