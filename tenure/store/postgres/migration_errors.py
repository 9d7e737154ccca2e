"""Why a database could not be migrated, each with a stable code and a hint that says what to do next."""

from __future__ import annotations

from tenure.model.errors import TenureError


class MigrationError(TenureError):
    """Base of the errors of migrations."""

    code = "migration_error"
    status = 503


class ServerTooOld(MigrationError):
    """The server's version is below the oldest that is supported."""

    code = "server_too_old"


class DatabaseNewer(MigrationError):
    """A later version of the software has migrated this database."""

    code = "database_newer"


class MigrationChanged(MigrationError):
    """A migration file is not what was applied under its number."""

    code = "migration_changed"


class MigrationNotPermitted(MigrationError):
    """The role may not create what the migrations create."""

    code = "migration_not_permitted"


class MigrationFailed(MigrationError):
    """A statement of a migration failed; its transaction was rolled back."""

    code = "migration_failed"
