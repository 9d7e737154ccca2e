-- Which state folder a node's agent works in, and until when no agent of another folder may take its place.
alter table management_node add column folder_id text, add column served_until timestamptz;
