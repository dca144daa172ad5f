"""Rivals with features: an estimator and a selector, and those with rules of their own."""
