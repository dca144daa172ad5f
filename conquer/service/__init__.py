"""The HTTP service: show two, learn from the pick, lose nothing."""
