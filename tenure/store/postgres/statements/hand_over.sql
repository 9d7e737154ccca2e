-- Completes steps, moves their runs on and submits what follows, run by run: what is not as it was looked at is left.
-- Key look-ups.
select * from tenure.hand_over(%(tenant)s, %(worker)s, %(actor)s, %(trace_id)s, %(at)s, %(ends)s::jsonb, %(moved)s::jsonb, %(told)s::jsonb,
    %(planned)s::jsonb, %(linked)s::jsonb, %(notify)s)
