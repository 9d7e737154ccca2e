-- How a step's work is tried again, where that is not for its queue to say (design 02, Model). Written with the runnable.
alter table runnable add column retry jsonb;
