"""Cells: the smallest pieces of a study, each kept on disk under a name made of what it depends on."""
