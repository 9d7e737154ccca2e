-- The words and the two sources of everything: identity and time.
--
-- Tenure in thirty lines. A subject is anything that work is done on. Its row in `execution` is the only authority on
-- its state. A queue is policy; which subjects are in it is derived. A worker takes a subject under a lease; the
-- attempt it makes is one row of `attempt` with two faces, the lease and the record. What stops work is a hold, what
-- gave up is a dead letter. Every change of anything appends a fact to a thread, in the same transaction, chained by
-- hash to the fact before it. The triggers of 0005_law hold all that, whoever writes.

-- One sequence for every kind of object. It counts in twos: an attempt owns its uid (the lease) and the next (the record).
create sequence uid as bigint increment by 2 minvalue 2 start with 1024;

create type state as enum (
    'PENDING', 'READY', 'RUNNING', 'WAITING_EXTERNAL', 'FAILED_RETRYABLE', 'FAILED_TERMINAL', 'HELD', 'CANCELED', 'COMPLETED');
create type hold_state as enum ('NONE', 'ACTIVE', 'TERMINAL');
create type lease_status as enum ('ACTIVE', 'RELEASED', 'COMPLETED', 'EXPIRED', 'ABANDONED', 'CANCELED');
create type record_status as enum ('STARTED', 'SUCCEEDED', 'FAILED_RETRYABLE', 'FAILED_TERMINAL', 'CANCELED', 'EXPIRED');
create type hold_status as enum ('ACTIVE', 'RELEASED');
create type resolution as enum ('OPEN', 'REQUEUED', 'CANCELED', 'IGNORED');
create type worker_type as enum ('SERVICE', 'HUMAN_SESSION', 'INSTRUMENT_ADAPTER');
create type worker_status as enum ('ONLINE', 'DRAINING', 'DISABLED', 'RETIRED');

-- The only clock. A session may set tenure.now, which tests do to move time; statement time, not transaction time, so
-- that a long transaction of a caller does not work with an old now.
create function now() returns timestamptz language sql stable parallel safe
    return coalesce(nullif(current_setting('tenure.now', true), '')::timestamptz, statement_timestamp());

-- The public face of a uid, the same as tenure.model.euid: prefix, base32, check character over GF(32).
create function euid(prefix text, uid bigint) returns text language plpgsql immutable strict parallel safe as $$
declare
    alphabet constant text := '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
    rest bigint := uid;
    digits int[] := '{}';
    digit int;
    body text := '';
    interim int := 0;
begin
    loop
        digits := (rest % 32)::int || digits;
        rest := rest / 32;
        exit when rest = 0;
    end loop;
    foreach digit in array digits loop
        body := body || substr(alphabet, digit + 1, 1);
        interim := (interim # digit) << 1;
        if interim & 32 <> 0 then
            interim := interim # 37;
        end if;
    end loop;
    return prefix || '-' || body || substr(alphabet, interim + 1, 1);
end
$$;
