-- A request that was seen to.
delete from requests where number = :number
