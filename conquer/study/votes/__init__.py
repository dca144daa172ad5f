"""Real votes, measured: a fit beside Bradley-Terry, and arguments of topics never seen."""
