"""``python -m tenure.cli`` is ``tenure``."""

from __future__ import annotations

import sys

from tenure.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
