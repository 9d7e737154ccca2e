"""Files that an analysis leaves behind, known by their content's hash."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def keep(folder: Path, name: str, content: Mapping[str, Any]) -> tuple[Path, str]:
    """Write ``content`` as JSON, whole or not at all; its path and SHA-256. The same content gives the same file."""
    data = json.dumps(content, sort_keys=True, indent=1).encode()
    digest = hashlib.sha256(data).hexdigest()
    path = folder / f"{name}-{digest[:12]}.json"
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_bytes(data)
    part.replace(path)
    return path, digest


def read(path: str, sha256: str) -> dict[str, Any] | None:
    """What ``keep`` wrote; None where the file is not what it was."""
    data = Path(path).read_bytes()
    if hashlib.sha256(data).hexdigest() != sha256:
        return None
    found: dict[str, Any] = json.loads(data)
    return found
