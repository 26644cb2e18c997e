"""Advice: which translation layer, with which parameters and how much RAM, suits a workload on a device."""
