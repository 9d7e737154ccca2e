"""What people can do on the screens: each action says what it asks, who may do it, and does it through the gateway."""
