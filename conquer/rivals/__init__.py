"""Algorithms of the literature, each faithful to its own paper, behind the same ask and tell."""
