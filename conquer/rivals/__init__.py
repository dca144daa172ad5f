"""The other systems of the field, each faithful to its own paper, behind the same ask and tell."""
