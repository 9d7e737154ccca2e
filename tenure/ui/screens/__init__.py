"""The screens, one module each (S1 section 10.1, and what people need besides)."""
