-- Creates one subject: the same as `submit`, by a function that keeps its plans.
-- Key look-ups and three inserts.
select * from tenure.submit_one(%(tenant)s, %(template)s, %(template_code)s, %(queue_key)s, %(state)s::tenure.state, %(actor)s, %(trace_id)s,
    %(properties)s::jsonb, %(data)s::jsonb, %(name)s, %(external_ref)s, %(payload_ref)s, %(submit_key)s, %(payload_hash)s::bytea,
    %(correlation_id)s, %(uid)s, %(in_run)s, %(notify)s, %(alone)s)
