-- The checkpoint of a thread.
-- Primary key.
select c.thread, c.rev, c.head, c.format, c.state from tenure.journal_checkpoint c where c.thread = %(thread)s
