-- The moment, and fresh uids.
select tenure.now() as now, array(select nextval('tenure.uid') from generate_series(1, %(count)s)) as uids
