-- Draws uids for objects that a decision makes.
select nextval('tenure.uid') as uid from generate_series(1, %(count)s)
