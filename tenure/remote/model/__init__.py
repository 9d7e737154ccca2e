"""The pure half: contracts and decisions."""
