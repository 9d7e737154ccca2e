-- What no longer is.
delete from conditions where name = :name
