-- Lists of submissions compare (tenant, uid) and (node, uid) as rows, which only indexes of one direction can answer.
drop index remote_submission_recent;
drop index remote_submission_node;
create index remote_submission_recent on remote_submission (tenant, uid);
create index remote_submission_node on remote_submission (node, uid);
