-- One management node: by uid, by name, or by the principal bound to it.
-- Primary key and the two unique keys; branches, of which those not asked for are never executed.
select n.* from (
    select n.* from tenure.management_node n where n.uid = %(uid)s and n.tenant = %(tenant)s
    union all
    select n.* from tenure.management_node n where n.tenant = %(tenant)s and n.name = %(name)s
    union all
    select n.* from tenure.management_node n where n.tenant = %(tenant)s and n.principal = %(principal)s) n
limit 1
