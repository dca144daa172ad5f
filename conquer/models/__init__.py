"""Second-order models over checked rows: the state, its limits and its files; the arithmetic is in the kernels."""
