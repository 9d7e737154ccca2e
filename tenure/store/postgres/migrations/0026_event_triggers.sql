-- Event triggers of workflows are subscriptions whose destination is the workflow (docs/decisions/0016); their names are longer.
alter table subscription
    drop constraint subscription_kind_check,
    add constraint subscription_kind_check check (kind in ('webhook', 'file', 'stdout', 'workflow')),
    drop constraint subscription_name_check,
    add constraint subscription_name_check check (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]*$' and length(name) <= 200);
