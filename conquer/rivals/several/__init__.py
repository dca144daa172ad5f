"""Rivals that can show more than two items."""
