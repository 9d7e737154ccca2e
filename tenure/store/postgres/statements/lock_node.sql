-- Locks a management node by name. Unique key.
select n.* from tenure.management_node n where n.tenant = %(tenant)s and n.name = %(name)s for no key update
