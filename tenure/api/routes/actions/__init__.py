"""Actions: everything that changes something is a POST of its own (S1 section 10.3)."""
