-- Requests on subscriptions that come again are found by the name that they were sent to, whichever subscription had it.
create index subscription_of_name on subscription (tenant, name);
