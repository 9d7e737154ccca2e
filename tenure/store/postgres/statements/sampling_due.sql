-- The time now, and whether the last sample of a tenant is older than an interval.
-- The last entry of the index `queue_sample_time`.
select clock.now as at, not exists (
    select from tenure.queue_sample s
    where s.tenant = %(tenant)s and s.at > clock.now - make_interval(secs => %(min_interval)s) and s.at <= clock.now) as due
from (select tenure.now() as now) clock
