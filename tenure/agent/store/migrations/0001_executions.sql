-- What an agent keeps: executions that it was given, events that it owes to the server, and how it stands itself.
create table executions (
    number integer primary key autoincrement,
    execution_id text not null unique,
    work text not null,
    stage text not null,
    stage_at real not null,
    received_at real not null,
    job_id text,
    slurm_job_id text,
    partition text,
    qos text,
    restarts integer not null default 0,
    reported text,
    reported_at real,
    cancel_at real,
    absent_at real,
    problem text,
    outcome text,
    attempts integer not null default 0,
    not_before real not null default 0
) strict;

create index executions_by_stage on executions (stage, number);

create table outbox (
    number integer primary key autoincrement,
    event_id text not null unique,
    execution_id text not null,
    body text not null,
    standing text not null default 'waiting',
    attempts integer not null default 0,
    not_before real not null default 0,
    said text,
    made_at real not null,
    done_at real
) strict;

create index outbox_waiting on outbox (execution_id, number) where standing = 'waiting';

create index outbox_by_execution on outbox (execution_id);

create table conditions (
    name text primary key,
    value text not null,
    at real not null
) strict;

-- What people ask of the agent by commands, whether it runs or not.
create table requests (
    number integer primary key autoincrement,
    kind text not null,
    value text not null,
    at real not null
) strict;
