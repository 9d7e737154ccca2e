"""The parts that screens are made of: each a Vue component in a file of its own, and what it may be told."""
