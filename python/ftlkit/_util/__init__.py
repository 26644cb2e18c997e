"""What all parts use and none of them is about: units, outputs, progress, calls into the simulator."""
