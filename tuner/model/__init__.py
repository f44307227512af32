"""Pure models: container memory, run time, load."""
