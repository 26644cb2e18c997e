"""Sweeps: points combine devices, workloads, translation layers and values of keys."""
