-- What people have asked of the agent, in their order.
select * from requests order by number
