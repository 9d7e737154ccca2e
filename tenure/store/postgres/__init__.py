"""The PostgreSQL store: set-based SQL and its migrations."""
