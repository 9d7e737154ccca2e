-- The server's own clock, whatever clock a test has set (seconds since 1970).
select extract(epoch from clock_timestamp())::float8 as seconds
