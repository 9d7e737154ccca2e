-- Samples of a queue since a time, in order: of as many equal spans as there may be points, the last of each.
-- A range of the primary key.
select distinct on (span.number) s.*
from tenure.queue_sample s
cross join (select tenure.now() as now) clock
cross join lateral (
    select least(%(limit)s - 1, floor(extract(epoch from s.at - %(since)s::timestamptz)::float8
        / (extract(epoch from clock.now - %(since)s::timestamptz)::float8 / %(limit)s))) as number) span
where s.tenant = %(tenant)s and s.queue_key = %(queue_key)s and s.at >= %(since)s and s.at <= clock.now and clock.now > %(since)s
order by span.number, s.at desc
