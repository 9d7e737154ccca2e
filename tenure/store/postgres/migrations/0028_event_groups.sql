-- Threads that a subscription groups keep one order, and wait as one (design 05, Out; docs/decisions/0016, 0018).

-- The group that waits, which is the correlation id that its threads were made with; none where a thread waits by itself.
alter table parked_event add column group_key text collate "C";
create unique index parked_group on parked_event (subscription, group_key) where not alone and group_key is not null;

-- Events that the cursor of a subscription went past while their group waits: behind its head, in order.
create table held_event (
    subscription bigint not null,
    group_key text collate "C" not null,
    position bigint not null,
    tenant bigint not null,
    primary key (subscription, group_key, position),
    foreign key (subscription, tenant) references subscription (uid, tenant)
);

insert into api_right (relation, rights) values ('held_event', 'select');
select admit_api();
