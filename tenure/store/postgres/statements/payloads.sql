-- What facts of runs refer to by their seq.
-- Primary key look-ups.
select p.run, p.seq, p.data
from unnest(%(runs)s::bigint[], %(seqs)s::int[]) as wanted(run, seq),
lateral (select p.* from tenure.run_payload p where p.run = wanted.run and p.seq = wanted.seq offset 0) p
