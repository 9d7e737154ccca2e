-- Which queues a worker serves, so that `why` and the metrics count it for these alone: what waits in a queue that no online
-- worker serves is seen to wait for nobody. Empty where it does not say: then it may serve any.
alter table worker add column queues text[] not null default '{}';
