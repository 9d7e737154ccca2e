-- Takes a few: the same as `claim`, by a function that keeps its plans and stops early where nothing waits.
-- Reads the index `claimable` from its start (or from the hint); everything else is key look-ups.
select * from tenure.claim_few(%(tenant)s, %(worker)s, %(incarnation)s, %(queue_key)s, %(limit)s, %(start)s, %(ttl)s, %(token_hash)s,
    %(actor)s, %(trace_id)s, %(claim_key)s, %(claim_hash)s, %(past_gate)s, %(after_priority)s, %(after_due)s::timestamptz,
    %(after_eligible)s::timestamptz, %(after_created)s::timestamptz, %(after_uid)s, %(live_after)s)
