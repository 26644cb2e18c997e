"""Fleets: many volumes, each a workload with a device of its own, and one answer."""
