"""Runs in memory, beside the memory store."""
