"""Sweeps: points are combinations of devices, workloads, translation layers and values of keys, and each is one run."""
