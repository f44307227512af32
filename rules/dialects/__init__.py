"""How the two schedulers write their configuration: read, render, change and check it."""
