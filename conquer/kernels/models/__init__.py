"""The compiled arithmetic of the three models and their entry points."""
