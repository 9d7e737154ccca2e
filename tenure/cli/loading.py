"""Finds the application behind MODULE:APP."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

from tenure.model.errors import InvalidRequest
from tenure.sdk.client import AsyncTenure, Tenure

_EXAMPLE = "Give module and attribute, such as shop.jobs:app, from the folder where `import shop.jobs` works."


def load(application: str, *, verbose: bool = False) -> Tenure | AsyncTenure:
    """The ``Tenure`` or ``AsyncTenure`` that MODULE:APP names. Raises InvalidRequest for whatever is wrong with it."""
    module_name, _, attribute = application.partition(":")
    if not module_name or not attribute:
        raise InvalidRequest(f"{application!r} is not of the form MODULE:APP.", _EXAMPLE)
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    found: Any = _module(module_name, verbose)
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, Tenure | AsyncTenure):
        what = "is not there" if found is None else f"is a {type(found).__name__}"
        raise InvalidRequest(
            f"{attribute} in {module_name} {what}, not a Tenure application.", "Name the variable that holds Tenure()."
        )
    return found


def _module(name: str, verbose: bool) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise InvalidRequest(f"There is no module {name!r} here.", _EXAMPLE) from None
        raise _broken(name, error, verbose) from error
    except (ImportError, SyntaxError, Exception) as error:
        raise _broken(name, error, verbose) from error


def _broken(name: str, error: Exception, verbose: bool) -> InvalidRequest:
    """The module is there and fails: say where, in the user's own file."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    hint = "Correct the module." if verbose else "Correct the module; --verbose shows the whole trace."
    return InvalidRequest(f"Module {name!r} fails when it is imported: {type(error).__name__}: {error}{where}.", hint)
