-- What was refused on a subject, and the children of a run, are read a page at a time: an agent that errs may send the same for
-- days, and a run may start a child for each of very many items.
drop index refusal_subject;
create index refusal_subject on refusal (subject, uid) where subject is not null;
drop index run_children;
create index run_children on run (parent_run, uid) where parent_run is not null;
