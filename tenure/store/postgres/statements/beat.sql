-- Notes the heartbeat of the newest incarnation; telemetry, not a fact (S4 6.4).
update tenure.worker w
set heartbeat_at = tenure.now(),
    last_error_at = case when %(error_class)s::text is null then w.last_error_at else tenure.now() end,
    last_error_class = coalesce(%(error_class)s, w.last_error_class)
where w.uid = %(uid)s and (w.tenant = %(tenant)s) is true and w.incarnation = %(incarnation)s and w.status <> 'RETIRED'
returning w.*, w.worker_type::text as worker_type, w.status::text as status
