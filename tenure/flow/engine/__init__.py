"""What is done with workflows and runs: each an operation on a caller, in the manner of ``tenure.engine``."""
