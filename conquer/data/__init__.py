"""Where reviews come from: users' files, made-up domains of any size, scikit-learn's digits, public downloads."""
