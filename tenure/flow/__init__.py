"""Workflows as facts (design 02): definitions, runs, and what follows when a step ends."""
