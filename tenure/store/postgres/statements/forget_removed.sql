-- Forgets what still waited of subscriptions that were removed, so many rows of each kind at most. An hour later, so that no turn of
-- a relay that was under way writes any more.
-- Keys of `held_event` and `parked_event`, from the first entry of each subscription on.
with removed as materialized (
    select s.uid from tenure.subscription s where s.tenant = %(tenant)s and s.retired_at < tenure.now() - interval '1 hour'),
old_held as materialized (
    select o.* from removed r cross join lateral (
        select h.subscription, h.group_key, h.position from tenure.held_event h
        where h.subscription = r.uid order by h.group_key, h.position limit %(limit)s) o
    limit %(limit)s),
old_parked as materialized (
    select o.* from removed r cross join lateral (
        select p.subscription, p.position from tenure.parked_event p where p.subscription = r.uid order by p.position limit %(limit)s) o
    limit %(limit)s),
held as (
    delete from tenure.held_event h using old_held o
    where h.subscription = o.subscription and h.group_key = o.group_key and h.position = o.position returning 1),
parked as (
    delete from tenure.parked_event p using old_parked o where p.subscription = o.subscription and p.position = o.position returning 1)
select (select count(*) from held) + (select count(*) from parked) as removed
