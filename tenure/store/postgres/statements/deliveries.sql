-- The latest attempts of a subscription that failed.
-- Index `delivery_of`.
select d.* from tenure.delivery d where d.subscription = %(subscription)s and d.tenant = %(tenant)s order by d.uid desc limit %(limit)s
