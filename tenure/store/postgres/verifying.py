"""Reading for ``verify``."""


class Verifying:
    """The verifying part of the store port."""
