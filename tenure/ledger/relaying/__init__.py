"""The relay: events leave in order, at least once, and each subscription has one leader (docs/decisions/0016)."""
