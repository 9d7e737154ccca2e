"""Reading the ledger: the facts of all threads as one sequence, from which nothing is ever skipped (design 05, Out)."""
