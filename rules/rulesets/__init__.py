"""Rule sets: one rule for each mechanism of a scheduler."""
