"""Programs that fit a field to runs, as a user would write them. Their lines are counted."""
