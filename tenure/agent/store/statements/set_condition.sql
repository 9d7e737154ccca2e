-- How the agent stands, for whoever asks.
insert into conditions (name, value, at) values (:name, :value, :at)
on conflict (name) do update set value = excluded.value, at = excluded.at
