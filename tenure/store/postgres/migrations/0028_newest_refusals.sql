-- What was refused on a subject is read newest first, a page at a time: an agent that errs may send the same for days.
drop index refusal_subject;
create index refusal_subject on refusal (subject, uid) where subject is not null;
