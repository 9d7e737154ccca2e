-- Forgets the samples of a tenant that are older than they are kept for.
-- The first entries of the index `queue_sample_time`.
delete from tenure.queue_sample s where s.tenant = %(tenant)s and s.at < %(before)s
