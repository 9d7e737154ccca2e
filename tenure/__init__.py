"""Tenure runs work that must be provable, on one PostgreSQL database."""

__version__ = "0.1.0"
