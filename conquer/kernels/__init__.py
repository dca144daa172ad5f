"""Every compiled function of the package: arrays in, arrays out, and the only place that imports numba."""
