-- For the rest of the transaction no lock is waited for longer than a moment.
select set_config('lock_timeout', '100ms', true)
