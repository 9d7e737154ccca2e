-- How many events wait, were delivered, were parked.
select standing, count(*) as count from outbox group by standing
