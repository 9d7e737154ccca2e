"""Reading: what operators and ``why`` look at."""


class Reading:
    """The reading part of the store port."""
