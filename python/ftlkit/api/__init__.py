"""What a Python user calls: `ftlkit` has every function of this package under its own name."""
