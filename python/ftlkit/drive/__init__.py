"""A real drive's own counters: read from its reports, and compared at two times."""
