"""Fitting: a session from votes that other systems gathered, the warm start."""

from conquer.fitting.warm_start import Fitted, fit, fitted

__all__ = ["Fitted", "fit", "fitted"]
