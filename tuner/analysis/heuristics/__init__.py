"""One small function for each heuristic: facts and decisions in, what it saw out."""
