-- All management nodes, by name. Unique key.
select n.* from tenure.management_node n where n.tenant = %(tenant)s order by n.name
