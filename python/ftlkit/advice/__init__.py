"""Advice: which translation layer, parameters and size of RAM suit a workload on a device."""
