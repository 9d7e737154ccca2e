"""Reads a password: typed twice where somebody sits there, else one line of stdin; never an argument, which others see."""

from __future__ import annotations

import sys

import typer

from tenure.model.errors import InvalidRequest


def read_password(whose: str) -> str:
    """The password. Raises InvalidRequest where stdin has none."""
    if sys.stdin.isatty():
        return str(typer.prompt(f"New password of {whose}", hide_input=True, confirmation_prompt=True, err=True))
    line = sys.stdin.readline().rstrip("\r\n")
    if not line:
        raise InvalidRequest("There is no password on stdin.", "Pipe one line, or run it at a terminal to be asked.")
    return line
