"""The commands of this package; ``tuner.cli`` loads them by name."""
