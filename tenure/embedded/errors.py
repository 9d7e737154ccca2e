"""What can go wrong with the embedded server, each with a stable code and a hint that says what to do next."""

from __future__ import annotations

from tenure.model.errors import TenureError


class EmbeddedError(TenureError):
    """Base of all errors of the embedded server."""

    code = "embedded_error"
    status = 503


class BinariesMissing(EmbeddedError):
    """The PostgreSQL programs cannot be found or cannot be executed."""

    code = "embedded_binaries_missing"


class VersionMismatch(EmbeddedError):
    """The data folder was made by another major version of PostgreSQL."""

    code = "embedded_version_mismatch"


class NoSpace(EmbeddedError):
    """The file system of the data folder is full."""

    code = "embedded_no_space"


class SocketPathTooLong(EmbeddedError):
    """No folder was found whose path is short enough for a Unix socket."""

    code = "embedded_socket_path_too_long"


class PortInUse(EmbeddedError):
    """Another program listens on the TCP port that was asked for."""

    code = "embedded_port_in_use"


class PermissionDenied(EmbeddedError):
    """This user may not read or write the data folder, or it belongs to someone else."""

    code = "embedded_permission_denied"


class NotADataFolder(EmbeddedError):
    """The place of the data folder holds something that is not a PostgreSQL data folder."""

    code = "embedded_not_a_data_folder"


class NoServerAccount(EmbeddedError):
    """We are root, PostgreSQL refuses to run as root, and no other user could be taken on."""

    code = "embedded_no_server_account"


class NotRunning(EmbeddedError):
    """A DSN was asked for while no server runs."""

    code = "embedded_not_running"


class RunningWithoutTcp(EmbeddedError):
    """TCP was asked for, but the server already runs without it or on another port."""

    code = "embedded_running_without_tcp"


class StartFailed(EmbeddedError):
    """The server ended while starting, for a reason that has no class of its own."""

    code = "embedded_start_failed"


class StartTimeout(EmbeddedError):
    """The server did not become ready in time; it may still be recovering."""

    code = "embedded_start_timeout"


class StopTimeout(EmbeddedError):
    """The server did not end in time after it was told to."""

    code = "embedded_stop_timeout"
