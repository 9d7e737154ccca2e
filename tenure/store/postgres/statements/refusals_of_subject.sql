-- What was refused on one subject, in order.
-- Index `refusal_subject`.
select r.* from tenure.refusal r where r.subject = %(uid)s and r.tenant = %(tenant)s order by r.uid
