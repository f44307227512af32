"""AdaptiveConfig: predicts job latency under a queue configuration and finds a better one."""
