"""From a trace to blocks: what ran in each step of five minutes, the few kinds of it, and blocks that replay it."""
