"""The decisions: one file an action, each ``decide(unfolding, request, context) -> Fact`` (design 01, The actions).

A decision checks what it must, appends its facts to the unfolding thread and returns the fact that answers.
"""
