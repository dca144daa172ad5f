"""The paper's experiments: run, extended, tabulated and drawn."""
