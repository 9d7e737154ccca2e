"""The HTTP API (design 06, HTTP API; S1 sections 9.2 and 10.3)."""
