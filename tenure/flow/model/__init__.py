"""The pure half of workflows: definitions, the state of a run, its fold, and the decisions on it. No I/O, no clock."""
