"""A model as the fold of its log: rows, events, statistics, transactions."""
