-- Which runnables these subjects stand for.
-- Primary key look-ups.
select r.* from tenure.runnable r where r.subject = any (%(subjects)s) and r.tenant = %(tenant)s
