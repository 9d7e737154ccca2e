-- Marks a subject as standing for a runnable, of which the run's facts tell; it never ceases to.
-- Primary key look-up.
update tenure.execution set in_run = true where uid = %(subject)s and tenant = %(tenant)s and not in_run returning uid
