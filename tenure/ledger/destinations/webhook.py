"""Events posted to a URL: CloudEvents in structured JSON, signed, one request each (design 05, Out; design 07, Security)."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpcore

from tenure.ledger.destinations.addresses import CheckedNetwork, ForbiddenAddress, Resolve, resolve
from tenure.model.cloud_event import CONTENT_TYPE, CloudEvent
from tenure.model.delivery import Outcome, Verdict, verdict_of
from tenure.model.signing import EVENT_ID, SIGNATURE, TIMESTAMP, SigningKey, signature
from tenure.model.subscription import Webhook

#: So much of an answer is read, for the sake of the connection; what it says is not kept.
_MOST = 64 * 1024
_IDLE = 30.0


class WebhookDestination:
    """One webhook. Redirects are not followed; what the receiver answers beside its status is neither kept nor told."""

    def __init__(self, settings: Webhook, keys: Sequence[SigningKey], *, resolve: Resolve = resolve) -> None:
        self._settings = settings
        self._keys = tuple(keys)
        network = CheckedNetwork(allow_private=settings.allow_private, resolve=resolve)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=ssl.create_default_context(), max_connections=settings.concurrency,
            max_keepalive_connections=settings.concurrency, keepalive_expiry=_IDLE, network_backend=network,
        )  # fmt: skip

    @property
    def concurrency(self) -> int:
        """See ``Destination``."""
        return self._settings.concurrency

    async def deliver(self, event: CloudEvent) -> Verdict:
        """See ``Destination``."""
        try:
            async with asyncio.timeout(self._settings.timeout_seconds):
                return await self._post(event)
        except TimeoutError:
            return Verdict(Outcome.FAILED, "timeout")
        except ForbiddenAddress:
            return Verdict(Outcome.DOWN, "private_address")
        except (httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.PoolTimeout):
            return Verdict(Outcome.DOWN, "unreachable")
        except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError):
            return Verdict(Outcome.FAILED, "connection_broke")

    async def _post(self, event: CloudEvent) -> Verdict:
        now = int(time.time())
        headers: dict[bytes | str, bytes | str] = {
            "Content-Type": CONTENT_TYPE, "User-Agent": "Tenure", EVENT_ID: event.id, TIMESTAMP: str(now),
            SIGNATURE: signature(self._keys, now, event.body),
        }  # fmt: skip
        seconds = dict.fromkeys(("connect", "read", "write", "pool"), self._settings.timeout_seconds)
        async with self._pool.stream(
            "POST", self._settings.url, headers=headers, content=event.body, extensions={"timeout": seconds}
        ) as response:
            read = 0
            async for part in response.aiter_stream():
                read += len(part)
                if read > _MOST:
                    break
            return verdict_of(response.status, _retry_after(response))

    async def close(self) -> None:
        """See ``Destination``."""
        await self._pool.aclose()


def _retry_after(response: httpcore.Response) -> float | None:
    """The seconds that the receiver asks for, as a number or as a date."""
    for name, value in response.headers:
        if name.lower() == b"retry-after":
            text = value.decode("latin-1").strip()
            if text.isascii() and text.isdecimal() and len(text) < 10:
                return float(text)
            try:
                return (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds()
            except (ValueError, TypeError):
                return None
    return None
