"""Curves from one pass over a workload, where separate runs would take one each."""
