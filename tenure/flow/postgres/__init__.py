"""Runs on PostgreSQL, beside the PostgreSQL store."""
