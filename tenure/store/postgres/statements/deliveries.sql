-- The latest attempts of a subscription that failed.
-- Index `delivery_of`, and each fact by its position: it says what the thread is.
select d.*, f.type from tenure.delivery d left join lateral (
    select f.type from tenure.fact f where f.position = d.position offset 0) f on true
where d.subscription = %(subscription)s and d.tenant = %(tenant)s order by d.uid desc limit %(limit)s
