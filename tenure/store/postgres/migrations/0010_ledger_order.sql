-- A transaction has its number before it draws a position: so whoever has seen a position drawn can tell when every
-- transaction has ended that might still write a lower one (docs/decisions/0011-reading-the-ledger.md).
alter table fact alter column position
    set default case when pg_current_xact_id() is not null then nextval('tenure.fact_position_seq') end;
