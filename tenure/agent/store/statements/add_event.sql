-- An event that is owed to the server; in the transaction of the change that it tells of.
insert into outbox (event_id, execution_id, body, made_at) values (:event_id, :execution_id, :body, :at)
on conflict (event_id) do nothing
