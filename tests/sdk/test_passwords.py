"""What a password is kept as."""

from __future__ import annotations

import subprocess
import sys


def test_a_password_is_hashed_as_rfc_9106_recommends() -> None:
    # In a process of its own: in this one, passwords are hashed cheaply.
    script = "from tenure.sdk.password import password_hash; print(password_hash('correct horse battery'))"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
