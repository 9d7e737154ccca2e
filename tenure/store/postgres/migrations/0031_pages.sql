-- What was refused on a subject, the children of a run and what a subscription gave up are read a page at a time: an agent that
-- errs may send the same for days, a run may start a child for each of very many items, a receiver may refuse all there is.
drop index refusal_subject;
create index refusal_subject on refusal (subject, uid) where subject is not null;
drop index run_children;
create index run_children on run (parent_run, uid) where parent_run is not null;
create index event_dead_letter_undecided on event_dead_letter (subscription, uid) where status = 'OPEN';
