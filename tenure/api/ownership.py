"""Through the API a worker belongs to the principal that registered it first (S1 section 10.4; design 06, HTTP API).

How routes use it. ``register-worker`` needs nothing: the engine refuses the key of another's worker itself, because only
there it is known under lock. Every other route that acts *as* a worker (heartbeat, claim, start, dispatch, renew, release,
complete, fail, defer) calls, before it performs anything::

    await require_own_worker(gateway, identity, body.worker_euid)

What an admin does *to* a worker (drain, disable, enable, retire) or to a lease (expire) is no acting as one, and does not
call it. That a lease is held by the worker that the request names, the kernel checks. Processes that are trusted with the
database itself (the SDK without a server) own no workers and are not asked; a worker that they registered is not to be
had through the API.
"""

from __future__ import annotations

from tenure.api.gateway import Gateway
from tenure.engine.caller import Caller
from tenure.model.errors import Forbidden, NotFound
from tenure.model.principal import Identity
from tenure.store.operation import Op

_REMEMBERED = 100_000


async def require_own_worker(gateway: Gateway, identity: Identity, worker: int) -> None:
    """Raises NotFound where the tenant has no such worker, Forbidden where it is another principal's.

    The owner never changes, so it is looked up once for each worker; what is not there is looked up each time, whether
    it exists in another tenant or nowhere.
    """
    asked = (identity.tenant, worker)
    if asked not in gateway.owners:
        owner = await gateway.perform(identity, lambda caller: _owner(caller, worker))
        if len(gateway.owners) >= _REMEMBERED:
            gateway.owners.clear()
        gateway.owners[asked] = owner
    if gateway.owners[asked] != identity.principal.uid:
        raise Forbidden(
            "This worker belongs to another principal.",
            "Act as a worker that you registered; an admin may drain, disable or retire the others.",
        )


def _owner(caller: Caller, uid: int) -> Op[int | None]:
    worker = yield from caller.store.worker(caller.tenant, uid=uid)
    if worker is None:
        raise NotFound("There is no such worker.", "Register it first.")
    return worker.owner
