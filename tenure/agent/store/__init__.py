"""What an agent writes down: one SQLite file in the state folder, every step before and after it is taken."""
