-- A plain job becomes a workflow of one step once its code keeps something: its subject then stands for a runnable that
-- the run's facts tell of. It never ceases to.
create function law_in_run() returns trigger language plpgsql as $$
begin
    if old.in_run then
        raise exception 'Subject % stands for a runnable and cannot cease to', tenure.euid('SX', old.uid)
            using errcode = 'TN002', hint = 'Cancel the run, or the subject.';
    end if;
    if not exists (select from tenure.runnable r where r.subject = new.uid) then
        raise exception 'Subject % is said to stand for a runnable that is not there', tenure.euid('SX', new.uid)
            using errcode = 'TN006', hint = 'Append to the run first what plans the runnable.';
    end if;
    return null;
end
$$;
drop trigger law_in_run_stays on execution;
create trigger law_in_run_stays after update of in_run on execution for each row
when (old.in_run <> new.in_run) execute function law_in_run();
