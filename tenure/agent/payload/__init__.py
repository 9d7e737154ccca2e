"""What goes into a job and what comes out of it: fetched, hashed, kept (design 04; the payloads are no facts)."""
