-- Keeps what a node said in its poll; telemetry, not a fact (S4 6.4).
-- Primary key.
update tenure.management_node n
set agent_id = %(agent_id)s, former_agents = %(former_agents)s, incarnation = %(incarnation)s, polled_at = %(polled_at)s,
    draining = %(draining)s, holding = %(holding)s, scheduler = %(scheduler)s, scheduler_problem = %(scheduler_problem)s,
    problem_since = %(problem_since)s, folder_id = %(folder_id)s, served_until = %(served_until)s,
    job_problem = %(job_problem)s
where n.uid = %(uid)s and n.tenant = %(tenant)s
