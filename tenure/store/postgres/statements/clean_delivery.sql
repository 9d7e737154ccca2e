-- Forgets the oldest failed attempts to deliver that are kept no longer, so many at most, and notes how far.
-- The first entries of the index `delivery_kept`; each row by its primary key.
with old as materialized (
    select d.uid, d.at as age from tenure.delivery d
    where d.tenant = %(tenant)s and d.at < tenure.kept_since(%(tenant)s, 'delivery')
    order by d.at limit %(limit)s),
gone as (
    delete from tenure.delivery d using old o where d.tenant = %(tenant)s and d.uid = o.uid returning o.age),
noted as (
    insert into tenure.cleared as c (tenant, kind, until, removed)
    select %(tenant)s, 'delivery', max(g.age), count(*) from gone g having count(*) > 0
    on conflict (tenant, kind) do update set until = greatest(c.until, excluded.until), removed = c.removed + excluded.removed)
select count(*) as removed from gone
