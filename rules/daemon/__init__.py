"""The automatic running of the queue tuner: one run for cron, and the daemon that runs by clock and by event."""
