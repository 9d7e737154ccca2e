"""The engine: actions and readings as operations over any store (design 01, The actions)."""
