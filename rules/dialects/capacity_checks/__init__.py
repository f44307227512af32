"""Checks of a Capacity Scheduler configuration; ``rules.dialects.capacity_validation`` lists them."""
