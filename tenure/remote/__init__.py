"""Work on execution stacks that someone else owns: submissions, their events, what the product is told (seed S5)."""
