-- When the next event is due.
select min(o.not_before) as at from outbox o
  join (select min(number) as number from outbox where standing = 'waiting' group by execution_id) first
    on first.number = o.number
