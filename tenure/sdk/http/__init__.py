"""Tenure over HTTP alone, for processes that cannot reach the database (design 06, HTTP API)."""
