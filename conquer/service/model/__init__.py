"""A model as its log makes it: rows, events, counts, learners."""
