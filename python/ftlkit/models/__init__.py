"""Analytical models from the papers, with the papers' own symbols, to lay beside a simulation."""
