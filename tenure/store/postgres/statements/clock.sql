-- The only clock.
select tenure.now() as now
