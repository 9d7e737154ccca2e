-- The events that the server refused for good, newest first.
select * from outbox where standing = 'parked' order by number desc limit :at_most
