-- The oldest waiting event of each execution, where that one is due: an execution's events leave in their order. What is due
-- more than an hour from now was postponed before the clock was set back.
select o.* from outbox o
  join (select execution_id, min(number) as number from outbox where standing = 'waiting' group by execution_id) first
    on first.number = o.number
 where o.not_before <= :now or o.not_before > :now + 3600
 order by o.number
 limit :at_most
