-- Requests on subscriptions that come again are found by the name that they were sent to, whichever subscription had it.
create index subscription_of_name on subscription (tenant, name);

-- A person gives up what waits: the fact that says so, in the thread of the subscription. The relay, which alone knows whether the
-- event got through meanwhile, dead-letters it, or lets it be.
alter table parked_event add column give_up_seq int;
create index parked_given_up on parked_event (subscription) where give_up_seq is not null;
update api_right set rights = 'select, insert, update (give_up_seq, next_attempt_at)' where relation = 'parked_event';
select admit_api();
create function law_give_up() returns trigger language plpgsql as $$
begin
    if not exists (
        select from tenure.fact f
        where f.thread = new.subscription and f.seq = new.give_up_seq and f.type = 'subscription.give_up_requested'
            and (f.data ->> 'position')::bigint = new.position) then
        raise exception 'Event % of subscription % is given up silently', new.position, tenure.euid('BX', new.subscription)
            using errcode = 'TN003', hint = 'Append the fact that says who gives it up and why, in the same statement.';
    end if;
    return null;
end
$$;
create trigger law_give_up after update on parked_event for each row
when (new.give_up_seq is not null and new.give_up_seq is distinct from old.give_up_seq) execute function law_give_up();
create trigger law_give_up_insert after insert on parked_event for each row when (new.give_up_seq is not null) execute function law_give_up();

insert into fact_type (type, action, domain, stream, lane, severity, classification, version, schema, safe_fields) values
    ('subscription.give_up_requested', 'give_up_event', 'system', 'review', 'immediate', null, 'safe_metadata', 1, '{"type": ["object", "null"], "properties": {"position": {"type": "integer"}, "event": {"type": "string"}, "reason": {"type": "string"}}, "required": ["position", "event", "reason"]}', '{event}');
