"""What all parts use: units, output files, progress, calls into the simulator."""
