-- Something that somebody asks of the agent, which may be running or not.
insert into requests (kind, value, at) values (:kind, :value, :at)
