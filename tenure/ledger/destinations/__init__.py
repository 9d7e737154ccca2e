"""Where events go. A destination is whatever implements ``tenure.ledger.destinations.protocol.Destination``."""
