"""What the queue tuner may do, and what it is to reach: the policy file and what it holds."""

from rules.policy.model import (
    NO_LIMITS,
    Bounds,
    Mode,
    Objective,
    Policy,
    QueuePolicy,
    QuietHours,
)
from rules.policy.read import load_policy, parse_policy

__all__ = [
    "NO_LIMITS",
    "Bounds",
    "Mode",
    "Objective",
    "Policy",
    "QueuePolicy",
    "QuietHours",
    "load_policy",
    "parse_policy",
]
