-- What a worker's code has, so that `why` can tell where nobody has what a subject needs: its tasks, and the workflows that it
-- defines, each as `name@version`. Empty where it does not say.
alter table worker add column tasks text[] not null default '{}', add column workflows text[] not null default '{}';
