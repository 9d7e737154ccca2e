-- The inbox: which messages of other systems were taken in, in the transaction of what they did (design 05, In). What was
-- taken in once is neither changed nor forgotten but by retention; a message that came again changes nothing and leaves no row.
create table inbox (
    tenant bigint not null,
    source text collate "C" not null check (length(source) between 1 and 200),
    message_id text collate "C" not null check (length(message_id) between 1 and 500),
    content_hash bytea not null check (length(content_hash) = 32),
    actor text not null,
    received_at timestamptz not null,
    primary key (tenant, source, message_id)
);
create index inbox_age on inbox (received_at);

create trigger written_once before update or delete on inbox for each row execute function refuse_edit();
create trigger written_once_truncate before truncate on inbox execute function refuse_edit();

insert into api_right (relation, rights) values ('inbox', 'select, insert');
select admit_api();
