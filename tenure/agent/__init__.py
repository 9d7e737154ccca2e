"""The agent of a management node: takes submissions, runs them on the node's scheduler, reports (design 04).

It knows the contracts and HTTP, and nothing of the database.
"""
