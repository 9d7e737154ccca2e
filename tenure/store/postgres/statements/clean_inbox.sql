-- Forgets the oldest ids of messages that are kept no longer, so many at most, and notes how far.
-- The first entries of the index `inbox_kept`; each row by its primary key.
with old as materialized (
    select i.source, i.message_id, i.received_at as age from tenure.inbox i
    where i.tenant = %(tenant)s and i.received_at < tenure.kept_since(%(tenant)s, 'inbox')
    order by i.received_at limit %(limit)s),
gone as (
    delete from tenure.inbox i using old o where i.tenant = %(tenant)s and i.source = o.source and i.message_id = o.message_id returning o.age),
noted as (
    insert into tenure.cleared as c (tenant, kind, until, removed)
    select %(tenant)s, 'inbox', max(g.age), count(*) from gone g having count(*) > 0
    on conflict (tenant, kind) do update set until = greatest(c.until, excluded.until), removed = c.removed + excluded.removed)
select count(*) as removed from gone
