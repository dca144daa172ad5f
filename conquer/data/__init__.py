"""Data: files of reviews, items and votes, treebanks, synthetic reviews, scikit-learn's digits, public downloads."""
