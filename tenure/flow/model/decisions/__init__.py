"""The decisions on a run: one file a verb, each ``decide_...(state, definition, request, context) -> Decision``.

A decision gives facts to append and commands to carry out, both pure values. It raises ``DataNeeded`` where it lacks data.
"""
