"""What the border does: nodes, submissions, polls, events (decision 13)."""
