"""The functional core: values and decisions, no I/O and no clock (design 01, Architecture)."""
