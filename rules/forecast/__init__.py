"""What the near future may look like: cases drawn from what is visible now, and the decision that they lead to.

Pure: an observation and a seed in, cases and decisions out.
"""
