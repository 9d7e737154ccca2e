"""What AiiDA, the plugins here, and the adapter call things. Imports nothing, so that all of them may."""

from __future__ import annotations

#: Entry points (pyproject.toml).
CALCULATION = "tenure.execution"
PARSER = "tenure.execution"
SLURM = "tenure.slurm"
DIRECT = "tenure.direct"

#: The file in AiiDA's working folder that tells the script's exit code, once the script has ended by itself.
STATUS_FILE = "_tenure_status"

#: The file in it that holds the execution's id, for the plugin that submits.
KEY_FILE = ".tenure-key"

#: On a node of AiiDA: its task was handed to the daemon.
SENT = "tenure_sent"

#: Exit codes of AiiDA itself (``CalcJob``).
OUT_OF_MEMORY = 110
OUT_OF_WALLTIME = 120
INVALID_ACCOUNT = 131
NODE_FAILURE = 140

#: Exit codes of our CalcJob.
REJECTED = 310
ENDED_BY_SCHEDULER = 320
NO_STATUS = 330
NOT_ZERO = 340
