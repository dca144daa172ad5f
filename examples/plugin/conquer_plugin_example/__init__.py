"""An example of a package that adds to CONQUER without changing it."""
