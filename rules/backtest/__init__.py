"""The closed loop in virtual time: what a policy that sees only the past would have done to a recorded workload."""
