"""What became of a point of a sweep."""

DONE, REFUSED, BUG, LOST = STATES = ("done", "refused", "bug", "lost")
"""It has results; its study was refused; a translation layer broke a rule; its worker died."""
