"""Results of runs: the saved document, its frames and metrics, and stores of many."""
