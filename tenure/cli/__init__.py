"""The command ``tenure`` (design 06, CLI). It calls the SDK and holds no logic of its own.

Rooms: ``entry`` is the way in and the way out, ``application`` puts the command groups of ``commands/`` together, ``call``
is one invocation, ``arguments`` reads what users type; ``tenure.terminal`` writes what they read.
"""

from tenure.cli.entry import main

__all__ = ["main"]
