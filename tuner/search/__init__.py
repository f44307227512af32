"""The search for a configuration; the only part that knows Optuna."""
