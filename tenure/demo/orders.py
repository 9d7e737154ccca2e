"""A shop's orders as a workflow: reserve, authorize, let a person approve, deliver (a run of its own), invoice.

Where an order comes to nothing, what was done is undone, the last first: the payment is voided, the goods go back. Each
step leaves or removes a file, so that whoever doubts the rows can look at what was really done.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tenure import Tenure

ORDER, DELIVERY = "order", "delivery"
SHOP, CARRIER = "shop", "carrier"
#: The steps of an order that goes through, and what undoes one that does not, in the order in which it happens.
GOOD = ("reserve", "authorize", "check", "deliver", "invoice")
UNDONE = ("void", "put_back")


def join(app: Tenure) -> None:
    """Tell a client of both workflows and of the tasks that do their steps."""
    (app.workflow(DELIVERY, queue=CARRIER, output="$.outputs.hand_over").task("pack").task("hand_over", after="pack"))
    (
        app.workflow(ORDER, queue=SHOP, output="$.outputs.invoice")
        .task("reserve", compensate_with="put_back")
        .task("authorize", after="reserve", compensate_with="void")
        .approval("check", after="authorize", prompt="Is this order what the customer wants?")
        .child("deliver", DELIVERY, after="check")
        .task("invoice", after="deliver")
        .task("put_back")
        .task("void")
    )  # fmt: skip
    for queue, key, task in (
        (SHOP, "reserve", reserve), (SHOP, "authorize", authorize), (SHOP, "invoice", invoice),
        (SHOP, "put_back", put_back), (SHOP, "void", void), (CARRIER, "pack", pack), (CARRIER, "hand_over", hand_over),
    ):  # fmt: skip
        app.task(queue=queue, key=key)(task)


def reserve(order: str, item: str, count: int, folder: str) -> dict[str, Any]:
    """Take the goods from the shelf."""
    return _write(folder, order, "reservation", {"item": item, "count": count})


def put_back(order: str, item: str, count: int, folder: str) -> dict[str, Any]:
    """Undo the reservation."""
    return _remove(folder, order, "reservation")


def authorize(order: str, item: str, count: int, folder: str) -> dict[str, Any]:
    """Set the money aside."""
    return _write(folder, order, "payment", {"sum": 12 * count})


def void(order: str, item: str, count: int, folder: str) -> dict[str, Any]:
    """Undo the payment."""
    return _remove(folder, order, "payment")


def pack(order: str, item: str, count: int, folder: str) -> dict[str, Any]:
    """Pack the goods."""
    return _write(folder, order, "parcel", {"item": item, "count": count})


def hand_over(order: str, item: str, count: int, folder: str) -> dict[str, Any]:
    """Hand the parcel over."""
    return _write(folder, order, "waybill", {"parcel": f"{order}/parcel"})


def invoice(order: str, item: str, count: int, folder: str) -> dict[str, Any]:
    """Write the invoice."""
    return _write(folder, order, "invoice", {"item": item, "count": count, "sum": 12 * count})


def papers(folder: Path, order: str) -> list[str]:
    """What lies in the shop for an order, by name."""
    return sorted(path.stem for path in (folder / order).glob("*.json"))


def _write(folder: str, order: str, paper: str, content: dict[str, Any]) -> dict[str, Any]:
    """Write a paper of an order; the same again changes nothing, so a step that is tried again does no harm."""
    path = Path(folder) / order / f"{paper}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(content, sort_keys=True), encoding="utf-8")
    part.replace(path)
    return {"state": f"{paper} written", **content}


def _remove(folder: str, order: str, paper: str) -> dict[str, Any]:
    (Path(folder) / order / f"{paper}.json").unlink(missing_ok=True)
    return {"state": f"{paper} removed"}
