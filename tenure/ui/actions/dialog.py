"""The one dialog of a page: opens an action's form, performs it once, shows a refusal, tells of the fact."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

import psycopg

from tenure.engine.logging import where
from tenure.model.errors import StoreUnavailable, TenureError
from tenure.ui.actions.action import Action, Done
from tenure.ui.components.action_form import ActionForm
from tenure.ui.components.notices import Notices

_log = logging.getLogger("tenure.ui")
_AWAY = {
    "message": "The database cannot be reached.", "code": StoreUnavailable.code,
    "hint": "It is not known whether the action took place. Try again: the same dialog never acts twice.",
}  # fmt: skip


class Dialog:
    """Asks and acts. The idempotency key is drawn when the form opens, so that a form acts once however often it is sent."""

    def __init__(self, notices: Notices, after: Callable[[], Awaitable[None]]) -> None:
        self._notices = notices
        self._after = after
        self._form = ActionForm(form=None, problem=None, once=None, pending=False)
        self._form.when("submit", self._submit)
        self._form.when("close", self._closed)
        self._open: tuple[str, Action] | None = None
        self._busy = False
        self._done = False

    def ask(self, action: Action) -> None:
        """Open the form of an action."""
        key = f"ui:{secrets.token_urlsafe(16)}"
        self._open = (key, action)
        self._done = False
        form = {
            "id": key, "title": action.title, "about": action.about, "says": action.says, "submit": action.submit,
            "tone": action.tone, "fields": [asdict(field) for field in action.fields],
        }  # fmt: skip
        self._form.show(form=form, problem=None, once=None, pending=False)

    def _closed(self, key: Any) -> None:
        if self._open is not None and self._open[0] == key:
            self._open = None
            self._form.show(form=None, problem=None, once=None)

    async def _submit(self, sent: dict[str, Any]) -> None:
        if self._open is None or self._busy or self._done or sent.get("id") != self._open[0]:
            return
        key, action = self._open
        self._busy = True
        self._form.show(pending=True, problem=None)
        try:
            done = await action.perform(dict(sent.get("values") or {}), key)
        except TenureError as error:
            self._form.show(problem={"message": error.message, "hint": error.hint, "code": error.code})
        except (psycopg.OperationalError, psycopg.InterfaceError):
            self._form.show(problem=_AWAY)
        except Exception as error:
            incident = secrets.token_hex(6)
            _log.error("Incident %s: an action failed unexpectedly: %s", incident, where(error))
            hint = "Give the number to whoever runs this server: the log has the details."
            self._form.show(
                problem={
                    "message": f"Something went wrong. Incident {incident}.",
                    "hint": hint,
                    "code": "internal_error",
                }
            )
        else:
            self._finish(done)
            await self._after()
        finally:
            self._busy = False
            self._form.show(pending=False)

    def _finish(self, done: Done) -> None:
        if done.refused:
            told = {"message": done.text, "hint": "", "code": "partly", "each": list(done.refused), "final": True}
            self._form.show(problem=told)
            return
        if done.once is not None:
            self._done = True
            self._form.show(once={"text": done.text, "secret": done.once})
            return
        self._open = None
        self._form.show(form=None, problem=None)
        self._notices.say(done.text, href=done.href, link=done.link if done.href else "")
