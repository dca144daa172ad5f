"""Rivals that show one item, or a set, and hear whether it is the best."""
