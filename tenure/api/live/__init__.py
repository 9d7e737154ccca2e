"""What goes on between requests: who waits for work, and who follows the ledger (design 06, HTTP API)."""
