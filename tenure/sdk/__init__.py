"""The SDK: clients, tasks and the worker runtime (design 06, SDK)."""
