"""Finds the configuration of a whole queue hierarchy under which a workload goes best."""

from rules.optimizer.optimize import Guard, optimize
from rules.optimizer.result import Optimum, Outcome

__all__ = ["Guard", "Optimum", "Outcome", "optimize"]
