"""The Store port and its stores."""
