"""Fitting: a session from the votes of other systems."""
